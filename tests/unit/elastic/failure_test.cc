// Classes and order of worker failures.
#include "elastic/failure.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kWallStart{seconds(1'795'000'000)};

Observation exited(int code) { return {.status = {.code = code}}; }
Observation signalled(int signal) { return {.status = {.signal = signal}}; }

// A failed worker, `at` after the start of the attempt.
FailureRecord failed(int rank, Duration at) {
  FailureRecord record;
  record.rank = rank;
  record.noticed = TimePoint(seconds(1000)) + at;
  record.noticed_wall = kWallStart + at;
  record.alive = at;
  return record;
}

// With an error file whose time is `written` after the start.
FailureRecord failed(int rank, Duration at, Duration written) {
  FailureRecord record = failed(rank, at);
  record.error_file.emplace().written = kWallStart + written;
  return record;
}

int first_rank(const std::vector<FailureRecord>& records) {
  const FailureRecord* first = first_failure(records);
  return first == nullptr ? -1 : first->rank;
}

TEST(Classify, ExitCodeIsAUserError) {
  const Classified result = classify(exited(3));
  EXPECT_EQ(result.failure_class, FailureClass::kUserError);
  EXPECT_EQ(result.reason, "exit code 3 (user error)");
}

TEST(Classify, TellsWhatShellsMean) {
  EXPECT_EQ(classify(exited(127)).reason, "exit code 127 (user error, a shell's: no such command)");
  EXPECT_EQ(classify(exited(126)).reason,
            "exit code 126 (user error, a shell's: it cannot execute that)");
}

TEST(Classify, ALaunchersExitCodeSaysThatSomethingFailedAndNotWhat) {
  const Classified ended = classify({.status = {.code = 1}, .is_launcher = true});
  EXPECT_EQ(ended.failure_class, FailureClass::kLauncher);
  EXPECT_EQ(ended.reason, "exit code 1");
  EXPECT_TRUE(is_failure(ended.failure_class));
  const Classified missing = classify({.status = {.code = 127}, .is_launcher = true});
  EXPECT_EQ(missing.failure_class, FailureClass::kUserError);
}

TEST(Classify, SuccessIsNoFailure) {
  EXPECT_EQ(classify(exited(0)).failure_class, FailureClass::kSuccess);
  EXPECT_EQ(classify(exited(0)).reason, "exit code 0 (success)");
}

TEST(Classify, SynchronousSignalsAreCrashes) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    EXPECT_EQ(classify(signalled(signal)).failure_class, FailureClass::kCrashed) << signal;
  }
  EXPECT_EQ(classify({.status = {.signal = SIGSEGV, .core_dumped = true}}).reason,
            "SIGSEGV (crashed, core dumped)");
}

TEST(Classify, SignalThatNobodyHereSentIsKilled) {
  for (const int signal : {SIGKILL, SIGTERM, SIGUSR1, SIGPIPE}) {
    EXPECT_EQ(classify(signalled(signal)).failure_class, FailureClass::kKilled) << signal;
  }
  EXPECT_EQ(classify(signalled(SIGKILL)).reason, "SIGKILL (killed from outside)");
  EXPECT_EQ(classify(signalled(SIGPIPE)).reason,
            "SIGPIPE (killed: it wrote where nobody reads any more)");
}

TEST(Classify, SigkillWithARisenCounterIsOutOfMemory) {
  const Classified result = classify({.status = {.signal = SIGKILL}, .out_of_memory = true});
  EXPECT_EQ(result.failure_class, FailureClass::kOutOfMemory);
  EXPECT_EQ(result.reason, "SIGKILL (out of memory: the kernel's OOM killer ended it)");
}

TEST(Classify, AnExitAfterTheOomKillerEndedAnotherProcessIsOutOfMemory) {
  const Classified result = classify(
      {.status = {.code = 1}, .out_of_memory = true, .shortage = "the OOM killer ended 1"});
  EXPECT_EQ(result.failure_class, FailureClass::kOutOfMemory);
  EXPECT_EQ(result.reason, "exit code 1 (out of memory: the OOM killer ended 1)");
  EXPECT_EQ(classify({.status = {.signal = SIGSEGV}, .out_of_memory = true}).failure_class,
            FailureClass::kCrashed);
}

TEST(Classify, AShortageOfTheContainerIsNoErrorOfTheUser) {
  const Classified exited =
      classify({.status = {.code = 1}, .shortage = "the limit of open files is 64"});
  EXPECT_EQ(exited.failure_class, FailureClass::kInfrastructure);
  EXPECT_EQ(exited.reason, "exit code 1 (infrastructure: the limit of open files is 64)");
  const Classified crashed =
      classify({.status = {.signal = SIGBUS}, .shortage = "/dev/shm is full"});
  EXPECT_EQ(crashed.failure_class, FailureClass::kCrashed);
  EXPECT_EQ(crashed.reason, "SIGBUS (crashed; /dev/shm is full)");
}

TEST(Classify, ASignalThatWasPassedOnDidNotComeFromOutsideAlone) {
  const Classified result = classify({.status = {.signal = SIGUSR1}, .passed_on = SIGUSR1});
  EXPECT_EQ(result.failure_class, FailureClass::kKilled);
  EXPECT_EQ(result.reason, "SIGUSR1 (killed by a signal that muster passed on)");
}

TEST(Classify, ShellsExitCodeTellsTheSignalOfTheProcessItWrapped) {
  EXPECT_EQ(classify(exited(139)).failure_class, FailureClass::kCrashed);
  EXPECT_EQ(classify(exited(139)).reason, "exit code 139 = 128 + SIGSEGV (crashed)");
  EXPECT_EQ(classify({.status = {.code = 137}, .out_of_memory = true}).failure_class,
            FailureClass::kOutOfMemory);
  EXPECT_EQ(classify({.status = {.code = 143}, .stop_signal = SIGTERM}).failure_class,
            FailureClass::kStopped);
}

TEST(Classify, OtherHighExitCodesStayWhatTheyAre) {
  for (const int code : {126, 127, 128, 144, 200, 255}) {
    EXPECT_EQ(classify(exited(code)).failure_class, FailureClass::kUserError) << code;
  }
}

TEST(Classify, WorkerThatWeStoppedIsStoppedWhenItEndsAsAsked) {
  EXPECT_EQ(classify({.status = {.signal = SIGTERM}, .stop_signal = SIGTERM}).failure_class,
            FailureClass::kStopped);
  EXPECT_EQ(classify({.status = {}, .stop_signal = SIGTERM}).failure_class, FailureClass::kStopped);
  const Classified killed =
      classify({.status = {.signal = SIGKILL}, .stop_signal = SIGTERM, .killed_by_agent = true});
  EXPECT_EQ(killed.failure_class, FailureClass::kStopped);
  EXPECT_EQ(killed.reason, "SIGKILL (stopped by muster)");
}

TEST(Classify, WorkerThatWeStoppedButEndedOtherwiseHasItsOwnFailure) {
  EXPECT_EQ(classify({.status = {.code = 1}, .stop_signal = SIGTERM}).failure_class,
            FailureClass::kUserError);
  EXPECT_EQ(classify({.status = {.signal = SIGSEGV}, .stop_signal = SIGTERM}).failure_class,
            FailureClass::kCrashed);
  EXPECT_EQ(classify({.status = {.signal = SIGKILL}, .stop_signal = SIGTERM}).failure_class,
            FailureClass::kKilled);
}

TEST(Classify, OurOwnSigkillIsNotTakenForTheOomKiller) {
  EXPECT_EQ(classify({.status = {.signal = SIGKILL},
                      .stop_signal = SIGTERM,
                      .killed_by_agent = true,
                      .out_of_memory = true})
                .failure_class,
            FailureClass::kStopped);
}

TEST(Classify, StartThatFailedNamesTheErrno) {
  const Classified result = classify({.spawn_errno = ENOENT});
  EXPECT_EQ(result.failure_class, FailureClass::kInfrastructure);
  EXPECT_EQ(result.reason, "could not be started: No such file or directory (infrastructure)");
}

TEST(Classify, EveryClassHasItsOwnWords) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(FailureClass::kInfrastructure); ++i) {
    words.insert(to_string(static_cast<FailureClass>(i)));
  }
  EXPECT_EQ(words.size(), 8u);
}

TEST(SameStartFails, TellsMissingProgramsFromPassingShortages) {
  for (const int error : {ENOENT, EACCES, ENOEXEC, E2BIG}) EXPECT_TRUE(same_start_fails(error));
  for (const int error : {EAGAIN, ENOMEM, EMFILE, EINTR}) EXPECT_FALSE(same_start_fails(error));
}

TEST(FirstFailure, OrdersWithinASecond) {
  EXPECT_EQ(first_rank({failed(0, milliseconds(5900)), failed(1, milliseconds(5200))}), 1);
}

TEST(FirstFailure, SkipsWhatIsNoFailure) {
  FailureRecord stopped = failed(0, seconds(1));
  stopped.failure_class = FailureClass::kStopped;
  FailureRecord succeeded = failed(1, seconds(1));
  succeeded.failure_class = FailureClass::kSuccess;
  EXPECT_EQ(first_rank({stopped, succeeded, failed(2, seconds(9))}), 2);
  EXPECT_EQ(first_rank({stopped, succeeded}), -1);
  EXPECT_EQ(first_rank({}), -1);
}

TEST(FirstFailure, BelievesTheErrorFileOfAWorkerThatTookLongToEnd) {
  // Rank 1 raised at 10 s and hung in its exit handlers; rank 0 broke down because of it at 12 s.
  EXPECT_EQ(first_rank({failed(0, seconds(12)), failed(1, seconds(40), seconds(10))}), 1);
}

TEST(FirstFailure, DoesNotLetAWholeSecondPretendToBeEarlier) {
  // Rank 1 raised at 10.9 s and its file says 10 s; rank 0 had crashed at 10.2 s.
  EXPECT_EQ(
      first_rank({failed(0, milliseconds(10200)), failed(1, milliseconds(10950), seconds(10))}), 0);
}

TEST(FirstFailure, TakesAFractionInAFileAsItIs) {
  EXPECT_EQ(first_rank({failed(0, milliseconds(10300)),
                        failed(1, milliseconds(10950), milliseconds(10100))}),
            1);
}

TEST(FirstFailure, DisbelievesFilesFromBeforeTheWorkerLived) {
  EXPECT_EQ(first_rank({failed(0, seconds(5)), failed(1, seconds(6), -seconds(500))}), 0);
  EXPECT_EQ(
      first_rank({failed(0, seconds(5)), failed(1, seconds(6), -kWallStart.time_since_epoch())}),
      0);
}

TEST(FirstFailure, DisbelievesFilesFromTheFuture) {
  EXPECT_EQ(first_rank({failed(0, seconds(5)), failed(1, seconds(4), seconds(900))}), 1);
  EXPECT_EQ(first_rank({failed(0, seconds(4)), failed(1, seconds(5), seconds(900))}), 0);
}

TEST(FirstFailure, OfOneMomentIsTheOneRecordedFirst) {
  // Rank 2 ended because it was stopped after rank 3's failure, and both were reaped in one go.
  EXPECT_EQ(first_rank({failed(3, seconds(5)), failed(2, seconds(5))}), 3);
  // Two files of the same second: the worker that was seen to end first.
  EXPECT_EQ(first_rank({failed(1, seconds(14), seconds(10)), failed(0, seconds(15), seconds(10))}),
            1);
}

TEST(FirstFailure, OfOneMomentWhoLostAPeerGoesAfterItsCause) {
  FailureRecord victim = failed(0, seconds(5));
  victim.last_lines = {"RuntimeError: Connection closed by peer [127.0.0.1]:4711"};
  FailureRecord cause = failed(1, milliseconds(5150));
  cause.last_lines = {"ValueError: no such sample"};
  EXPECT_EQ(first_rank({victim, cause}), 1);
  EXPECT_EQ(first_rank({victim, failed(1, milliseconds(5250))}), 0);  // another moment
}

// Python ends its connections long before its process: the peer failed and was seen first.
TEST(FirstFailure, AnExceptionOfAWorkerThatWeStoppedCountsAsItsFailure) {
  FailureRecord victim = failed(0, seconds(5));
  victim.last_lines = {"RuntimeError: Connection closed by peer [127.0.0.1]:4711"};
  FailureRecord stopped = failed(1, milliseconds(5030));
  stopped.failure_class = FailureClass::kStopped;
  stopped.status.signal = SIGTERM;
  stopped.reason = "SIGTERM (stopped by muster)";
  stopped.told_to_stop = true;
  EXPECT_FALSE(raised_before_stop(stopped));  // it said nothing
  stopped.last_lines = {"Traceback (most recent call last):", "  File \"t.py\", line 5",
                        "ValueError: no such sample"};
  const auto raised = raised_before_stop(stopped);
  ASSERT_TRUE(raised);
  EXPECT_TRUE(explains_stop(*raised));
  EXPECT_EQ(raised->status.code, 1);
  EXPECT_EQ(raised->reason, "an exception, then SIGTERM (stopped by muster)");
  EXPECT_EQ(first_rank({victim, *raised}), 1);
}

TEST(FirstFailure, AStopIsNoFailureForWhoLostItsPeerOrEndedWell) {
  FailureRecord stopped = failed(1, seconds(5));
  stopped.failure_class = FailureClass::kStopped;
  stopped.told_to_stop = true;
  stopped.last_lines = {"Traceback (most recent call last):", "RuntimeError: Broken pipe"};
  stopped.status.signal = SIGTERM;
  EXPECT_FALSE(raised_before_stop(stopped));
  stopped.last_lines.back() = "ValueError: handled";
  stopped.status = {};
  EXPECT_FALSE(raised_before_stop(stopped));
}

TEST(FirstFailure, OfOneMomentWhoWasToldToStopGoesLast) {
  FailureRecord cause = failed(0, seconds(5));
  cause.last_lines = {"OSError: Broken pipe"};
  FailureRecord stopped = failed(1, seconds(5));
  stopped.told_to_stop = true;
  EXPECT_EQ(first_rank({stopped, cause}), 0);
}

}  // namespace
}  // namespace muster::elastic
