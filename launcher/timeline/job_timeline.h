// JobTimeline: where the time of the job goes, as the agent knows it that leads it or is its only
// one: the restart timeline (elastic/restart_timeline.h) with its events, its last interruptions,
// and the time in each state. It decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/loop.h"
#include "elastic/restart_timeline.h"

namespace muster::launcher {

/// Interruptions that are kept for `muster status --history`: as JSON they fit its answer.
inline constexpr size_t kKeptInterruptions = 64;
/// Of a reason there.
inline constexpr size_t kKeptReasonBytes = 160;

/// Sums of the time in which this agent led.
struct JobTimes {
  std::map<std::string, elastic::CauseTotal> causes;  ///< every one, also with 0
  elastic::PhaseTimes phases{};
  std::map<std::string, Duration> states;  ///< by their words in the status ("Running")
  uint64_t rounds = 0;                     ///< that were formed
  Duration rendezvous{};                   ///< in which they were
  double productive_ratio = 0;             ///< RestartTimeline::productive_ratio
};

class JobTimeline {
 public:
  /// Both are borrowed.
  JobTimeline(Loop& loop, const Clock& clock) : loop_(loop), clock_(clock) {}
  JobTimeline(const JobTimeline&) = delete;
  JobTimeline& operator=(const JobTimeline&) = delete;

  /// The job is in another state since then. The first one begins the timeline; "" = in one that
  /// this agent does not know, because it leads no more.
  void entered(std::string_view state, TimePoint at);
  /// A round was formed; nodes were gathered for it in that time.
  void formed(TimePoint at, Duration gathering);
  /// Health checks before the workers of the next round took so long on this node.
  void checked(Duration time) { check_ += time; }
  /// What passed until then was such checks, and else the pause of the policy.
  void paused(TimePoint until);
  // As of RestartTimeline; events are told here.
  void broke(elastic::Fault fault);
  void explain(const std::string& cause, const std::string& reason);
  void charge(elastic::RestartPhase phase, TimePoint until);
  void runs(TimePoint at, uint64_t round);
  void moved(TimePoint at);
  /// The job is over, or somebody else goes on with it.
  void ends(TimePoint at);

  [[nodiscard]] const std::string& state() const { return sums_.state; }
  /// The last interruptions, the oldest first: [{"time" (of the fault), "round" (that ended),
  /// "cause", "reason", "total_s", "phases": {"detect", ...}}].
  [[nodiscard]] std::string json() const;
  /// None: this agent has led no job.
  [[nodiscard]] std::optional<JobTimes> times() const;

 private:
  struct Sums {
    std::map<std::string, Duration> states;
    std::string state;
    TimePoint since;  // of state
    uint64_t rounds = 0;
    Duration rendezvous{};
  };
  void settle();
  void tell(const elastic::Interruption& interruption);

  Loop& loop_;
  const Clock& clock_;
  std::optional<elastic::RestartTimeline> timeline_;
  Sums sums_;
  Duration check_{};
  std::deque<std::string> kept_;  // as JSON
  Timer timer_;
};

}  // namespace muster::launcher
