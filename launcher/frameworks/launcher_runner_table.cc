#include "launcher/frameworks/launcher_runner_table.h"

#include <array>

#include "base/check.h"

namespace muster::launcher {

namespace {

using enum LauncherState;
using enum LauncherEvent;
using enum LauncherAction;

constexpr std::string_view kNotedOnce = "the agent says it of the beginning once, and of the end";
constexpr std::string_view kNoLauncher = "there is no launcher";
constexpr std::string_view kHasStarted = "it has started";
constexpr std::string_view kToldAtTheEnd = "found out when its end is to be reported";
constexpr std::string_view kTooLate = "it has ended";
constexpr std::string_view kEndsOnce = "it ends once";
constexpr std::string_view kNoSweep = "no sweep was begun";
constexpr std::string_view kNoReport = "no end was reported";
constexpr std::string_view kOver = "it is over";

// clang-format off: a row is a line.
struct Life : LifeCycle<LauncherState, LauncherEvent, LauncherAction> {
  static constexpr std::array kTable{
      go(kAsking, kNoted, kRunning, kStartWatched),
      go(kAsking, kAgentGone, kRunning, kStartUnwatched),
      bug(kAsking, kNotStarted, "nothing is being started"),
      ignore(kAsking, kHangs, kNoLauncher),
      bug(kAsking, kEnded, kNoLauncher),
      bug(kAsking, kKilled, kNoLauncher),
      bug(kAsking, kSwept, kNoSweep),
      bug(kAsking, kNoAnswer, kNoReport),

      ignore(kRunning, kNoted, kNotedOnce),
      ignore(kRunning, kAgentGone, kToldAtTheEnd),
      go(kRunning, kNotStarted, kFinished, kFinish),
      go(kRunning, kHangs, kHanging, kKill),
      go(kRunning, kEnded, kReporting, kReport),
      go(kRunning, kKilled, kReporting, kReport),
      bug(kRunning, kSwept, kNoSweep),
      bug(kRunning, kNoAnswer, kNoReport),

      ignore(kHanging, kNoted, kNotedOnce),
      ignore(kHanging, kAgentGone, kToldAtTheEnd),
      bug(kHanging, kNotStarted, kHasStarted),
      ignore(kHanging, kHangs, "SIGKILL is on its way"),
      go(kHanging, kEnded, kReporting, kReport),
      go(kHanging, kKilled, kSweeping, kSweep),
      bug(kHanging, kSwept, kNoSweep),
      bug(kHanging, kNoAnswer, kNoReport),

      ignore(kSweeping, kNoted, kNotedOnce),
      ignore(kSweeping, kAgentGone, kToldAtTheEnd),
      bug(kSweeping, kNotStarted, kHasStarted),
      ignore(kSweeping, kHangs, kTooLate),
      bug(kSweeping, kEnded, kEndsOnce),
      bug(kSweeping, kKilled, kEndsOnce),
      go(kSweeping, kSwept, kReporting, kReport),
      bug(kSweeping, kNoAnswer, kNoReport),

      go(kReporting, kNoted, kFinished, kFinish),
      go(kReporting, kAgentGone, kFinished, kFinish),
      bug(kReporting, kNotStarted, kHasStarted),
      ignore(kReporting, kHangs, kTooLate),
      bug(kReporting, kEnded, kEndsOnce),
      bug(kReporting, kKilled, kEndsOnce),
      bug(kReporting, kSwept, kNoSweep),
      go(kReporting, kNoAnswer, kFinished, kFinish),

      ignore(kFinished, kNoted, kOver),
      ignore(kFinished, kAgentGone, kOver),
      bug(kFinished, kNotStarted, kOver),
      ignore(kFinished, kHangs, kOver),
      bug(kFinished, kEnded, kEndsOnce),
      bug(kFinished, kKilled, kEndsOnce),
      bug(kFinished, kSwept, kNoSweep),
      bug(kFinished, kNoAnswer, kOver),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kFinished, kNoAnswer),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(LauncherState state) {
  switch (state) {
    case kAsking:
      return "Asking";
    case kRunning:
      return "Running";
    case kHanging:
      return "Hanging";
    case kSweeping:
      return "Sweeping";
    case kReporting:
      return "Reporting";
    case kFinished:
      return "Finished";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(LauncherEvent event) {
  switch (event) {
    case kNoted:
      return "Noted";
    case kAgentGone:
      return "AgentGone";
    case kNotStarted:
      return "NotStarted";
    case kHangs:
      return "Hangs";
    case kEnded:
      return "Ended";
    case kKilled:
      return "Killed";
    case kSwept:
      return "Swept";
    case kNoAnswer:
      return "NoAnswer";
  }
  MUSTER_CHECK(false);
}

std::span<const LauncherTransition> launcher_transitions() { return Life::kTable; }

const LauncherTransition& transition(LauncherState state, LauncherEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::launcher
