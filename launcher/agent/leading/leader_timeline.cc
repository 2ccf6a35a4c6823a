#include "launcher/agent/leading/leader_timeline.h"

#include <algorithm>
#include <string>

namespace muster::launcher {

namespace {

using elastic::RestartPhase;
using rendezvous::LeaderState;
using rendezvous::leader_output::Entered;

elastic::Fault fault_of(const Entered& entered) {
  return {.cause = std::string(entered.cause),
          .reason = entered.reason,
          .round = entered.round,
          .happened = entered.fault,
          .known = entered.known,
          .at = entered.at};
}

// The pause of the policy begins when the workers are gone; nodes are gathered after both.
void take_formed(const Entered& entered, JobTimeline& timeline) {
  const TimePoint pause_over = std::min(entered.pause_over, entered.at);
  timeline.charge(RestartPhase::kStop, entered.stopped);
  timeline.paused(pause_over);
  timeline.formed(entered.at, entered.at - std::max(entered.stopped, pause_over));
}

}  // namespace

void follow_leader(const Entered& entered, JobTimeline& timeline) {
  timeline.entered(to_string(entered.state), entered.at);
  switch (entered.state) {
    case LeaderState::kGathering:
      // A leader that begins after another one: its round was not seen to end here.
      if (entered.cause == rendezvous::kCauseLeader) return timeline.broke(fault_of(entered));
      if (!entered.cause.empty()) timeline.explain(std::string(entered.cause), entered.reason);
      // From the last call back to gathering nodes nothing was alive.
      return timeline.charge(RestartPhase::kStop, entered.stopped);
    case LeaderState::kLastCall:
      return;
    case LeaderState::kAssigned:
      return take_formed(entered, timeline);
    case LeaderState::kRunning:
      return timeline.runs(entered.at, entered.round);
    case LeaderState::kStopping:
      return timeline.broke(fault_of(entered));
    case LeaderState::kFinished:
      return timeline.ends(entered.at);
  }
}

}  // namespace muster::launcher
