#include "elastic/worker_group.h"

#include <array>

#include "base/check.h"

namespace muster::elastic {

namespace {

using enum GroupState;
using enum GroupEvent;
using enum GroupAction;

constexpr std::string_view kOneStart = "an agent begins once";
constexpr std::string_view kNotSpawning = "nothing is being spawned";
constexpr std::string_view kNobody = "no worker exists";
constexpr std::string_view kNotStopping = "only a group that is being stopped can be gone";
constexpr std::string_view kNoGrace = "no grace period runs";
constexpr std::string_view kNoSweep = "no sweep was begun";
constexpr std::string_view kNotAsked = "the policy was not asked";
constexpr std::string_view kNoPause = "no pause runs";
constexpr std::string_view kOthersRun = "the others are still at work";
constexpr std::string_view kAsTold = "it was told to stop";
constexpr std::string_view kSameTurn = "the timer was due in the turn that made it pointless";
constexpr std::string_view kLastReap = "the sweep ends with the last descendant";

// clang-format off: a row is a line.
struct Life : LifeCycle<GroupState, GroupEvent, GroupAction> {
  static constexpr std::array kTable{
      go(kIdle, kStart, kStarting, kSpawn),
      bug(kIdle, kAllStarted, kNotSpawning),
      bug(kIdle, kStartFailed, kNotSpawning),
      bug(kIdle, kWorkerSucceeded, kNobody),
      bug(kIdle, kAllSucceeded, kNobody),
      bug(kIdle, kWorkerFailed, kNobody),
      go(kIdle, kShutdown, kFinished, kFinish),
      bug(kIdle, kInterrupted, kNobody),
      bug(kIdle, kWorkersGone, kNobody),
      bug(kIdle, kGraceOver, kNoGrace),
      bug(kIdle, kTreeGone, kNoSweep),
      bug(kIdle, kRestartGranted, kNotAsked),
      bug(kIdle, kRestartRefused, kNotAsked),
      bug(kIdle, kBackoffOver, kNoPause),

      bug(kStarting, kStart, kOneStart),
      note(kStarting, kAllStarted, kRunning, "what remains is to wait"),
      go(kStarting, kStartFailed, kStopping, kTerminate),
      ignore(kStarting, kWorkerSucceeded, "the others are still being started"),
      bug(kStarting, kAllSucceeded, "some were not started yet"),
      go(kStarting, kWorkerFailed, kStopping, kTerminate),
      go(kStarting, kShutdown, kFinalStopping, kTerminate),
      go(kStarting, kInterrupted, kStopping, kTerminate),
      bug(kStarting, kWorkersGone, kNotStopping),
      bug(kStarting, kGraceOver, kNoGrace),
      bug(kStarting, kTreeGone, kNoSweep),
      bug(kStarting, kRestartGranted, kNotAsked),
      bug(kStarting, kRestartRefused, kNotAsked),
      bug(kStarting, kBackoffOver, kNoPause),

      bug(kRunning, kStart, kOneStart),
      bug(kRunning, kAllStarted, kNotSpawning),
      bug(kRunning, kStartFailed, kNotSpawning),
      ignore(kRunning, kWorkerSucceeded, kOthersRun),
      // Without a policy: only orphans of the workers can be left.
      go(kRunning, kAllSucceeded, kFinalStopping, kEndRest),
      go(kRunning, kWorkerFailed, kStopping, kTerminate),
      go(kRunning, kShutdown, kFinalStopping, kTerminate),
      go(kRunning, kInterrupted, kStopping, kTerminate),
      bug(kRunning, kWorkersGone, kNotStopping),
      bug(kRunning, kGraceOver, kNoGrace),
      bug(kRunning, kTreeGone, kNoSweep),
      bug(kRunning, kRestartGranted, kNotAsked),
      bug(kRunning, kRestartRefused, kNotAsked),
      bug(kRunning, kBackoffOver, kNoPause),

      bug(kStopping, kStart, kOneStart),
      bug(kStopping, kAllStarted, kNotSpawning),
      bug(kStopping, kStartFailed, kNotSpawning),
      ignore(kStopping, kWorkerSucceeded, kAsTold),
      // All ended well as they were told to, since somebody wants another attempt.
      go(kStopping, kAllSucceeded, kStopping, kEndRest),
      ignore(kStopping, kWorkerFailed, "the attempt has failed already; its record is kept"),
      // The first signal: the workers know already and keep their grace, but no attempt follows.
      note(kStopping, kShutdown, kFinalStopping, "the workers have been told to stop"),
      ignore(kStopping, kInterrupted, kAsTold),
      go(kStopping, kWorkersGone, kStopping, kEndRest),
      go(kStopping, kGraceOver, kSweeping, kSweep),
      go(kStopping, kTreeGone, kDeciding, kDecide),
      bug(kStopping, kRestartGranted, kNotAsked),
      bug(kStopping, kRestartRefused, kNotAsked),
      bug(kStopping, kBackoffOver, kNoPause),

      bug(kSweeping, kStart, kOneStart),
      bug(kSweeping, kAllStarted, kNotSpawning),
      bug(kSweeping, kStartFailed, kNotSpawning),
      ignore(kSweeping, kWorkerSucceeded, kAsTold),
      ignore(kSweeping, kAllSucceeded, kLastReap),
      ignore(kSweeping, kWorkerFailed, kAsTold),
      note(kSweeping, kShutdown, kFinalSweeping, "the sweep goes on"),
      ignore(kSweeping, kInterrupted, kAsTold),
      ignore(kSweeping, kWorkersGone, kLastReap),
      ignore(kSweeping, kGraceOver, kSameTurn),
      go(kSweeping, kTreeGone, kDeciding, kDecide),
      bug(kSweeping, kRestartGranted, kNotAsked),
      bug(kSweeping, kRestartRefused, kNotAsked),
      bug(kSweeping, kBackoffOver, kNoPause),

      bug(kDeciding, kStart, kOneStart),
      bug(kDeciding, kAllStarted, kNotSpawning),
      bug(kDeciding, kStartFailed, kNotSpawning),
      bug(kDeciding, kWorkerSucceeded, kNobody),
      bug(kDeciding, kAllSucceeded, kNobody),
      bug(kDeciding, kWorkerFailed, kNobody),
      go(kDeciding, kShutdown, kFinished, kFinish),
      bug(kDeciding, kInterrupted, kNobody),
      bug(kDeciding, kWorkersGone, kNobody),
      bug(kDeciding, kGraceOver, kNoGrace),
      bug(kDeciding, kTreeGone, kNoSweep),
      go(kDeciding, kRestartGranted, kBackoff, kWait),
      go(kDeciding, kRestartRefused, kFinished, kFinish),
      bug(kDeciding, kBackoffOver, kNoPause),

      bug(kBackoff, kStart, kOneStart),
      bug(kBackoff, kAllStarted, kNotSpawning),
      bug(kBackoff, kStartFailed, kNotSpawning),
      bug(kBackoff, kWorkerSucceeded, kNobody),
      bug(kBackoff, kAllSucceeded, kNobody),
      bug(kBackoff, kWorkerFailed, kNobody),
      go(kBackoff, kShutdown, kFinished, kFinish),
      bug(kBackoff, kInterrupted, kNobody),
      bug(kBackoff, kWorkersGone, kNobody),
      bug(kBackoff, kGraceOver, kNoGrace),
      bug(kBackoff, kTreeGone, kNoSweep),
      bug(kBackoff, kRestartGranted, kNotAsked),
      bug(kBackoff, kRestartRefused, kNotAsked),
      go(kBackoff, kBackoffOver, kStarting, kSpawn),

      bug(kFinalStopping, kStart, kOneStart),
      bug(kFinalStopping, kAllStarted, kNotSpawning),
      bug(kFinalStopping, kStartFailed, kNotSpawning),
      ignore(kFinalStopping, kWorkerSucceeded, kAsTold),
      go(kFinalStopping, kAllSucceeded, kFinalStopping, kEndRest),
      ignore(kFinalStopping, kWorkerFailed, kAsTold),
      // The signal that finds the job ending already: whoever sent it does not want to wait.
      go(kFinalStopping, kShutdown, kFinalSweeping, kSweep),
      ignore(kFinalStopping, kInterrupted, kAsTold),
      go(kFinalStopping, kWorkersGone, kFinalStopping, kEndRest),
      go(kFinalStopping, kGraceOver, kFinalSweeping, kSweep),
      go(kFinalStopping, kTreeGone, kFinished, kFinish),
      bug(kFinalStopping, kRestartGranted, kNotAsked),
      bug(kFinalStopping, kRestartRefused, kNotAsked),
      bug(kFinalStopping, kBackoffOver, kNoPause),

      bug(kFinalSweeping, kStart, kOneStart),
      bug(kFinalSweeping, kAllStarted, kNotSpawning),
      bug(kFinalSweeping, kStartFailed, kNotSpawning),
      ignore(kFinalSweeping, kWorkerSucceeded, kAsTold),
      ignore(kFinalSweeping, kAllSucceeded, kLastReap),
      ignore(kFinalSweeping, kWorkerFailed, kAsTold),
      ignore(kFinalSweeping, kShutdown, "nothing is left to shorten"),
      ignore(kFinalSweeping, kInterrupted, kAsTold),
      ignore(kFinalSweeping, kWorkersGone, kLastReap),
      ignore(kFinalSweeping, kGraceOver, kSameTurn),
      go(kFinalSweeping, kTreeGone, kFinished, kFinish),
      bug(kFinalSweeping, kRestartGranted, kNotAsked),
      bug(kFinalSweeping, kRestartRefused, kNotAsked),
      bug(kFinalSweeping, kBackoffOver, kNoPause),

      bug(kFinished, kStart, kOneStart),
      bug(kFinished, kAllStarted, kNotSpawning),
      bug(kFinished, kStartFailed, kNotSpawning),
      bug(kFinished, kWorkerSucceeded, kNobody),
      bug(kFinished, kAllSucceeded, kNobody),
      bug(kFinished, kWorkerFailed, kNobody),
      ignore(kFinished, kShutdown, "it is over already"),
      bug(kFinished, kInterrupted, kNobody),
      bug(kFinished, kWorkersGone, kNobody),
      bug(kFinished, kGraceOver, kNoGrace),
      bug(kFinished, kTreeGone, kNoSweep),
      ignore(kFinished, kRestartGranted, "the answer came after a signal had ended the job"),
      ignore(kFinished, kRestartRefused, "the answer came after a signal had ended the job"),
      ignore(kFinished, kBackoffOver, kSameTurn),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kFinished, kBackoffOver),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(GroupState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kStarting:
      return "Starting";
    case kRunning:
      return "Running";
    case kStopping:
      return "Stopping";
    case kSweeping:
      return "Sweeping";
    case kDeciding:
      return "Deciding";
    case kBackoff:
      return "Backoff";
    case kFinalStopping:
      return "FinalStopping";
    case kFinalSweeping:
      return "FinalSweeping";
    case kFinished:
      return "Finished";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(GroupEvent event) {
  switch (event) {
    case kStart:
      return "Start";
    case kAllStarted:
      return "AllStarted";
    case kStartFailed:
      return "StartFailed";
    case kWorkerSucceeded:
      return "WorkerSucceeded";
    case kAllSucceeded:
      return "AllSucceeded";
    case kWorkerFailed:
      return "WorkerFailed";
    case kShutdown:
      return "Shutdown";
    case kInterrupted:
      return "Interrupted";
    case kWorkersGone:
      return "WorkersGone";
    case kGraceOver:
      return "GraceOver";
    case kTreeGone:
      return "TreeGone";
    case kRestartGranted:
      return "RestartGranted";
    case kRestartRefused:
      return "RestartRefused";
    case kBackoffOver:
      return "BackoffOver";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(GroupAction action) {
  switch (action) {
    case kNothing:
      return "Nothing";
    case kSpawn:
      return "Spawn";
    case kTerminate:
      return "Terminate";
    case kEndRest:
      return "EndRest";
    case kSweep:
      return "Sweep";
    case kDecide:
      return "Decide";
    case kWait:
      return "Wait";
    case kFinish:
      return "Finish";
    case kBug:
      return "Bug";
  }
  MUSTER_CHECK(false);
}

std::span<const GroupTransition> group_transitions() { return Life::kTable; }

const GroupTransition& transition(GroupState state, GroupEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::elastic
