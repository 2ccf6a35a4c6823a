#include "mpi/rsh/rsh_request_table.h"

#include <array>

#include "base/check.h"

namespace muster::mpi {

namespace {

using enum RshState;
using enum RshEvent;
using enum RshAction;

constexpr std::string_view kOneCommand = "a connection carries one command";
constexpr std::string_view kNoProcess = "there is no process";
constexpr std::string_view kNotSpawning = "nothing is being started";
constexpr std::string_view kNoGrace = "no grace period runs";
constexpr std::string_view kNoSweep = "no sweep was begun";
constexpr std::string_view kNoReport = "nothing was reported";
constexpr std::string_view kAlreadyGone = "a caller goes once";
constexpr std::string_view kItsTurn = "the sweep ends it";
constexpr std::string_view kReaped = "its process was reaped before the sweep was over";
constexpr std::string_view kOver = "it is over";

// clang-format off: a row is a line.
struct Life : LifeCycle<RshState, RshEvent, RshAction> {
  static constexpr std::array kTable{
      go(kIdle, kRun, kRunning, kSpawn),
      bug(kIdle, kNotStarted, kNotSpawning),
      bug(kIdle, kProcessEnded, kNoProcess),
      go(kIdle, kCallerGone, kEnded, kEnd),
      go(kIdle, kKill, kReporting, kRefuse),
      bug(kIdle, kGraceOver, kNoGrace),
      bug(kIdle, kTreeGone, kNoSweep),
      bug(kIdle, kReported, kNoReport),

      bug(kRunning, kRun, kOneCommand),
      go(kRunning, kNotStarted, kReporting, kRefuse),
      go(kRunning, kProcessEnded, kSweeping, kSweep),
      go(kRunning, kCallerGone, kStoppingAlone, kTerminate),
      go(kRunning, kKill, kSweeping, kSweep),
      bug(kRunning, kGraceOver, kNoGrace),
      bug(kRunning, kTreeGone, kNoSweep),
      bug(kRunning, kReported, kNoReport),

      bug(kSweeping, kRun, kOneCommand),
      bug(kSweeping, kNotStarted, kNotSpawning),
      ignore(kSweeping, kProcessEnded, kItsTurn),
      note(kSweeping, kCallerGone, kSweepingAlone, "the sweep goes on"),
      ignore(kSweeping, kKill, kItsTurn),
      bug(kSweeping, kGraceOver, kNoGrace),
      go(kSweeping, kTreeGone, kReporting, kReport),
      bug(kSweeping, kReported, kNoReport),

      bug(kReporting, kRun, kOneCommand),
      bug(kReporting, kNotStarted, kNotSpawning),
      bug(kReporting, kProcessEnded, kReaped),
      go(kReporting, kCallerGone, kEnded, kEnd),
      ignore(kReporting, kKill, "no process is left; the caller still reads"),
      bug(kReporting, kGraceOver, kNoGrace),
      bug(kReporting, kTreeGone, kNoSweep),
      go(kReporting, kReported, kEnded, kEnd),

      bug(kStoppingAlone, kRun, kOneCommand),
      bug(kStoppingAlone, kNotStarted, kNotSpawning),
      go(kStoppingAlone, kProcessEnded, kSweepingAlone, kSweep),
      bug(kStoppingAlone, kCallerGone, kAlreadyGone),
      go(kStoppingAlone, kKill, kSweepingAlone, kSweep),
      go(kStoppingAlone, kGraceOver, kSweepingAlone, kSweep),
      bug(kStoppingAlone, kTreeGone, kNoSweep),
      bug(kStoppingAlone, kReported, kNoReport),

      bug(kSweepingAlone, kRun, kOneCommand),
      bug(kSweepingAlone, kNotStarted, kNotSpawning),
      ignore(kSweepingAlone, kProcessEnded, kItsTurn),
      bug(kSweepingAlone, kCallerGone, kAlreadyGone),
      ignore(kSweepingAlone, kKill, kItsTurn),
      bug(kSweepingAlone, kGraceOver, kNoGrace),
      go(kSweepingAlone, kTreeGone, kEnded, kEnd),
      bug(kSweepingAlone, kReported, kNoReport),

      bug(kEnded, kRun, kOver),
      bug(kEnded, kNotStarted, kOver),
      bug(kEnded, kProcessEnded, kReaped),
      ignore(kEnded, kCallerGone, "the connection ends with the request"),
      ignore(kEnded, kKill, kOver),
      bug(kEnded, kGraceOver, kNoGrace),
      bug(kEnded, kTreeGone, kNoSweep),
      bug(kEnded, kReported, kNoReport),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kEnded, kReported),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(RshState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kRunning:
      return "Running";
    case kSweeping:
      return "Sweeping";
    case kReporting:
      return "Reporting";
    case kStoppingAlone:
      return "StoppingAlone";
    case kSweepingAlone:
      return "SweepingAlone";
    case kEnded:
      return "Ended";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(RshEvent event) {
  switch (event) {
    case kRun:
      return "Run";
    case kNotStarted:
      return "NotStarted";
    case kProcessEnded:
      return "ProcessEnded";
    case kCallerGone:
      return "CallerGone";
    case kKill:
      return "Kill";
    case kGraceOver:
      return "GraceOver";
    case kTreeGone:
      return "TreeGone";
    case kReported:
      return "Reported";
  }
  MUSTER_CHECK(false);
}

std::span<const RshTransition> rsh_transitions() { return Life::kTable; }

const RshTransition& transition(RshState state, RshEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::mpi
