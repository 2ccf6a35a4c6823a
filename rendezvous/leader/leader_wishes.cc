// What people want of the job: another number of nodes, another round, its end.
#include <fmt/core.h>

#include "base/check.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"

namespace muster::rendezvous {

std::string_view to_string(BreakCause cause) {
  switch (cause) {
    case BreakCause::kNone:
      return "";
    case BreakCause::kFailure:
      return "failure";
    case BreakCause::kLost:
      return "lost";
    case BreakCause::kPreempted:
      return "preempted";
    case BreakCause::kResized:
      return "resized";
    case BreakCause::kUnfit:
      return "unfit";
    case BreakCause::kAsked:
      return "asked";
  }
  MUSTER_CHECK(false);
}

Status LeaderCore::obey(TimePoint now, const JobWish& wish) {
  // As in resize(): what a frozen leader last knew says nothing.
  if (!stepped_down_) check_liveness(now);
  if (!stepped_down_) check_quorum(now);
  const bool stops = wish.command.kind == JobCommandKind::kStop;
  // The end needs no quorum: those who are elsewhere only lose what these nodes would have done.
  if (stepped_down_ || (!stops && !quorum_since_))
    return Error{Code::kPeer, 0, "too few nodes of the job are with this leader: ask again later"};
  if (state_ == LeaderState::kFinished && stops && ending_.stop_asked) return {};
  if (state_ == LeaderState::kFinished) return Error{Code::kPeer, 0, "the job is over"};
  const bool runs = state_ == LeaderState::kAssigned || state_ == LeaderState::kRunning;
  const bool decided = ending_.decision && state_ == LeaderState::kRunning;
  if (!stops && (!runs || decided)) {
    return Error{Code::kPeer, 0,
                 decided ? "a worker has decided the job: nothing starts again"
                         : "no round runs that could end: another one is on its way"};
  }
  std::string text = fmt::format("asked for by '{}'", wish.by);
  if (!wish.command.reason.empty()) text += ": " + wish.command.reason;
  voice_.log(log::Level::kInfo, kEventJobAsked, (stops ? "the end, " : "a restart, ") + text);
  if (!stops) {
    break_round(now, BreakCause::kAsked, "a restart was " + text);
    return {};
  }
  dirty_ = true;
  ending_.stop_asked = "the end was " + text;
  for (const LeaderNode* node : nodes_) send(*node, Quit{*ending_.stop_asked});
  return {};
}

Status Leader::follow_list(std::optional<int> nodes) { return core_->follow_list(nodes); }
Status Leader::resize(TimePoint now, const SizeWish& wish) { return core_->resize(now, wish); }
Status Leader::obey(TimePoint now, const JobWish& wish) { return core_->obey(now, wish); }

}  // namespace muster::rendezvous
