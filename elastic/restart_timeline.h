// RestartTimeline: where the time of each interruption of a job went, and how much of all time its
// workers got somewhere (docs/observability.md defines the phases). Pure: it is told what happened,
// with the time of the leader's clock. The phases of an interruption add up to its total.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace muster::elastic {

/// In the order of an interruption.
enum class RestartPhase {
  kDetect,         ///< from the fault until it was known
  kDecide,         ///< from there until the workers were told to stop; and the pause of the policy
  kStop,           ///< until nothing of the attempt was alive
  kRendezvous,     ///< until the next round was formed
  kCheck,          ///< the health checks of the nodes
  kSpawn,          ///< until all workers were started
  kFirstProgress,  ///< until they told a step
};
inline constexpr size_t kRestartPhases = static_cast<size_t>(RestartPhase::kFirstProgress) + 1;
/// "detect", "first_progress": as in events and metrics.
[[nodiscard]] std::string_view to_string(RestartPhase phase);
using PhaseTimes = std::array<Duration, kRestartPhases>;

/// Every Fault::cause that there is: a counter of each begins with 0, which those who look for its
/// increase need.
inline constexpr std::array<std::string_view, 7> kRestartCauses{
    "failure", "lost", "preempted", "resized", "unfit", "asked", "leader"};

/// So long the first step is waited for, before an interruption is told without it.
inline constexpr Duration kFirstProgressWait = std::chrono::minutes(5);
/// The same, in a job that has never told a step.
inline constexpr Duration kFirstStepWait = std::chrono::seconds(10);

/// Why an attempt is over.
struct Fault {
  std::string cause;   ///< "failure", "lost", ...: a label of metrics
  std::string reason;  ///< one line
  uint64_t round = 0;  ///< that it ended
  TimePoint happened;  ///< at most `known`
  TimePoint known;     ///< at most `at`
  TimePoint at;        ///< the workers were told to stop
};

/// A round that ended, and another one that runs.
struct Interruption {
  Fault fault;
  uint64_t round = 0;  ///< that runs
  PhaseTimes phases{};
  bool moved = false;  ///< a step was told: else there is no first_progress
  [[nodiscard]] Duration total() const;
};

/// Of all interruptions of one cause.
struct CauseTotal {
  uint64_t count = 0;
  Duration time{};
};

class RestartTimeline {
 public:
  /// The job begins.
  explicit RestartTimeline(TimePoint began) : began_(began) {}

  /// A round ends. While an interruption is open (one round ended before it ran) it goes on, with
  /// the cause that it has.
  void broke(Fault fault);
  /// The open one ended its round for another reason than was told: a lost node explains failures.
  void explain(const std::string& cause, const std::string& reason);
  /// What has passed since the last word was this phase. Nothing if no interruption is open.
  void charge(RestartPhase phase, TimePoint until);
  /// Of that, so much was this phase, until `until` at the latest.
  void charge(RestartPhase phase, Duration time, TimePoint until);
  /// All workers of a round were started. What has passed since the last word was kSpawn.
  void runs(TimePoint at, uint64_t round);
  /// They told a step. Nothing while an interruption is open and its next round does not run.
  void moved(TimePoint at);
  /// The job is over, or somebody else goes on with it: of what runs no step is waited for, and
  /// what was to run is no restart.
  void ends(TimePoint at);
  /// Somebody else went on with it for so long, which counts neither for nor against.
  void skip(Duration time);

  /// When tick() has something to do; none = never.
  [[nodiscard]] std::optional<TimePoint> deadline() const;
  void tick(TimePoint now);
  /// Those that are complete, each once.
  [[nodiscard]] std::vector<Interruption> take_told();

  /// Of what was told. An interruption counts once it is told.
  [[nodiscard]] const std::map<std::string, CauseTotal>& causes() const { return causes_; }
  [[nodiscard]] const PhaseTimes& phases() const { return phases_; }
  /// How much of the time since the job began, without what was skipped, its workers got somewhere:
  /// from the first step of each round until its fault, or from the start of the workers in a job
  /// that tells no steps. 0 to 1.
  [[nodiscard]] double productive_ratio(TimePoint now) const;

 private:
  void tell();

  TimePoint began_;  // later by what was skipped
  std::optional<Interruption> open_;
  TimePoint mark_;      // of open_: until then its time is in a phase
  bool runs_ = false;   // the round that follows open_ runs, and its first step is waited for
  bool steps_ = false;  // the job has told some
  Duration productive_{};
  std::optional<TimePoint> productive_since_;
  std::vector<Interruption> told_;
  std::map<std::string, CauseTotal> causes_;
  PhaseTimes phases_{};
};

}  // namespace muster::elastic
