#include "base/process/supervisor.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"

namespace muster {
namespace {

using std::chrono::seconds;
using Sent = testing::FakeProcessHost::Sent;

class SupervisorTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeProcessHost host_;
  std::vector<WorkerExit> exits_;
  std::vector<size_t> gone_;  // survivors told by each tree_gone
  std::vector<pid_t> others_;
  Supervisor supervisor_{*loop_,
                         host_,
                         {[this](const WorkerExit& exit) { exits_.push_back(exit); },
                          [this](size_t survivors) { gone_.push_back(survivors); },
                          [this](const Reaped& other) { others_.push_back(other.pid); }}};

  pid_t start(int local_rank) { return supervisor_.start(local_rank, SpawnRequest{}).value(); }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
};

TEST_F(SupervisorTest, AnExitIsToldWithRankAgeAndStatus) {
  (void)start(0);
  const pid_t second = start(1);
  clock_.advance(seconds(3));
  idle();
  host_.end(second, ExitStatus{5, 0, false});
  supervisor_.reap();
  ASSERT_EQ(exits_.size(), 1U);
  EXPECT_EQ(exits_[0].local_rank, 1);
  EXPECT_EQ(exits_[0].status.code, 5);
  EXPECT_EQ(exits_[0].stop_signal, 0);
  EXPECT_FALSE(exits_[0].killed);
  EXPECT_EQ(exits_[0].alive, seconds(3));
  EXPECT_EQ(supervisor_.running(), 1U);
}

// Of two that ended before anybody looked, one is no victim of the other's.
TEST_F(SupervisorTest, WhoeverHasEndedIsNotStoppedAndTheKilledOneIsToldFirst) {
  std::vector<int> ranks;
  std::vector<size_t> running;
  Supervisor supervisor(*loop_, host_,
                        {[&](const WorkerExit& exit) {
                           ranks.push_back(exit.local_rank);
                           running.push_back(supervisor.running());
                           EXPECT_EQ(exit.stop_signal, 0) << exit.local_rank;
                           supervisor.terminate(SIGTERM);
                         },
                         [](size_t /*survivors*/) {}});
  const pid_t failed = supervisor.start(0, SpawnRequest{}).value();
  const pid_t killed = supervisor.start(1, SpawnRequest{}).value();
  const pid_t left = supervisor.start(2, SpawnRequest{}).value();
  host_.end(failed, ExitStatus{1, 0, false});
  host_.end(killed, ExitStatus{0, SIGKILL, false});
  supervisor.reap();
  EXPECT_EQ(ranks, (std::vector<int>{1, 0}));
  EXPECT_EQ(running, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{left, SIGTERM, false}}));
}

TEST_F(SupervisorTest, ChildrenOfOthersAreToldApartFromWorkersAndOrphans) {
  const pid_t worker = start(0);
  const pid_t other = host_.spawn(SpawnRequest{}).value();
  host_.end(other, ExitStatus{4, 0, false});
  host_.end(worker, ExitStatus{});
  host_.end(9999, ExitStatus{});  // nobody spawned it
  supervisor_.reap();
  EXPECT_EQ(others_, std::vector<pid_t>{other});
  EXPECT_EQ(exits_.size(), 1U);
}

TEST_F(SupervisorTest, TerminateReachesOnlyRunningWorkersAndIsRemembered) {
  const pid_t first = start(0);
  const pid_t second = start(1);
  host_.end(first, ExitStatus{});
  supervisor_.reap();
  supervisor_.terminate(SIGTERM);
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{second, SIGTERM, false}}));
  host_.end(second, ExitStatus{0, SIGTERM, false});
  supervisor_.reap();
  EXPECT_EQ(exits_[0].stop_signal, 0);
  EXPECT_EQ(exits_[1].stop_signal, SIGTERM);
}

TEST_F(SupervisorTest, WhoeverSavesIsToldOnce) {
  const pid_t worker = start(0);
  host_.left = {{500, worker}};
  supervisor_.terminate(SIGTERM);
  supervisor_.terminate(SIGTERM);
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{worker, SIGTERM, false}}));
  EXPECT_EQ(supervisor_.terminate_rest(SIGTERM), std::vector<pid_t>{500});
  EXPECT_TRUE(supervisor_.terminate_rest(SIGTERM).empty());
}

// A child of a shell that has not become its program yet catches the signal, and loses it.
TEST_F(SupervisorTest, WhoeverCannotHaveHeardIsToldAgain) {
  const pid_t worker = start(0);
  host_.left = {{500, worker}, {501, worker}};
  supervisor_.terminate(SIGTERM);
  (void)supervisor_.terminate_rest(SIGTERM);
  host_.sent.clear();
  host_.missed = {501, 502};
  clock_.advance(kMissedSignalInterval);
  idle();
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{501, SIGTERM, false}}));
  host_.missed.clear();
  clock_.advance(kMissedSignalInterval);
  idle();
  EXPECT_EQ(host_.sent.size(), 1U);
}

TEST_F(SupervisorTest, TheRestIsAwaited) {
  EXPECT_TRUE(supervisor_.await_rest());
  EXPECT_EQ(gone_.size(), 1U);
  host_.left = {{500, 1}};
  EXPECT_FALSE(supervisor_.await_rest());
  supervisor_.reap();
  EXPECT_EQ(gone_.size(), 1U);
  host_.left.clear();
  host_.end(500, ExitStatus{});
  supervisor_.reap();
  supervisor_.reap();
  EXPECT_EQ(gone_.size(), 2U);
}

TEST_F(SupervisorTest, AWorkerThatDiesOfTheFirstSignalWasStoppedByThat) {
  const pid_t first = start(0);
  const pid_t shell = start(1);
  const pid_t other = start(2);
  supervisor_.terminate(SIGINT);
  supervisor_.terminate(SIGTERM);
  host_.end(first, ExitStatus{0, SIGINT, false});
  host_.end(shell, ExitStatus{128 + SIGINT, 0, false});
  host_.end(other, ExitStatus{3, 0, false});
  supervisor_.reap();
  EXPECT_EQ(exits_[0].stop_signal, SIGINT);
  EXPECT_EQ(exits_[1].stop_signal, SIGINT);
  EXPECT_EQ(exits_[2].stop_signal, SIGTERM);
}

TEST_F(SupervisorTest, AForwardedSignalDoesNotCountAsAStop) {
  const pid_t pid = start(0);
  supervisor_.forward(SIGUSR1);
  supervisor_.forward_to_groups(SIGCONT);
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{pid, SIGUSR1, false}, {pid, SIGCONT, true}}));
  host_.end(pid, ExitStatus{0, SIGUSR1, false});
  supervisor_.reap();
  EXPECT_EQ(exits_[0].stop_signal, 0);
  EXPECT_EQ(exits_[0].passed_on, SIGUSR1);
}

TEST_F(SupervisorTest, OnlyWhoDiesOfAForwardedSignalDiedOfIt) {
  const pid_t shell = start(0);
  const pid_t other = start(1);
  supervisor_.forward(SIGUSR2);
  supervisor_.forward(SIGUSR1);
  host_.end(shell, ExitStatus{128 + SIGUSR2, 0, false});
  host_.end(other, ExitStatus{0, SIGKILL, false});
  supervisor_.reap();
  ASSERT_EQ(exits_.size(), 2U);
  for (const WorkerExit& exit : exits_)
    EXPECT_EQ(exit.passed_on, exit.pid == shell ? SIGUSR2 : 0) << exit.pid;
}

TEST_F(SupervisorTest, ASweepEndsWhenNothingIsLeftAndTellsOnce) {
  (void)start(0);
  host_.stray_descendants = 3;
  supervisor_.sweep();
  EXPECT_TRUE(gone_.empty());
  for (int round = 0; round < 5; ++round) {
    supervisor_.reap();
    clock_.advance(kSweepInterval);
    idle();
  }
  EXPECT_EQ(gone_, (std::vector<size_t>{0}));
  ASSERT_EQ(exits_.size(), 1U);
  EXPECT_TRUE(exits_[0].killed);
}

TEST_F(SupervisorTest, ASweepOfNothingTellsAtOnce) {
  supervisor_.sweep();
  EXPECT_EQ(gone_, (std::vector<size_t>{0}));
}

TEST_F(SupervisorTest, ASweepGivesUpOnProcessesStuckInTheKernel) {
  host_.stray_descendants = 1;
  host_.strays_are_stuck = true;
  supervisor_.sweep();
  for (Duration waited{}; waited < kSweepDeadline; waited += seconds(1)) {
    EXPECT_TRUE(gone_.empty());
    clock_.advance(seconds(1));
    idle();
  }
  EXPECT_EQ(gone_, (std::vector<size_t>{1}));
}

TEST_F(SupervisorTest, AWorkerThatWasGivenUpMeansNothingWhenItEndsAtLast) {
  (void)start(0);
  host_.stray_descendants = 1;
  host_.strays_are_stuck = true;
  supervisor_.sweep();
  clock_.advance(kSweepDeadline);
  idle();
  ASSERT_EQ(gone_.size(), 1U);
  EXPECT_EQ(supervisor_.running(), 0U);
  supervisor_.reap();  // only now can it be reaped
  EXPECT_TRUE(exits_.empty());
}

TEST_F(SupervisorTest, SparedChildrenOutliveASweep) {
  const pid_t guard = host_.spawn(SpawnRequest{}).value();
  supervisor_.spare(guard);
  supervisor_.sweep();
  EXPECT_EQ(gone_, (std::vector<size_t>{0}));
  EXPECT_TRUE(host_.alive().contains(guard));
}

TEST_F(SupervisorTest, OrphansAreReapedAndMeanNothing) {
  host_.end(4711, ExitStatus{});
  supervisor_.reap();
  EXPECT_FALSE(host_.reap().has_value());
  EXPECT_TRUE(exits_.empty() && others_.empty());
}

TEST_F(SupervisorTest, ASpawnFailureIsAValueAndStartsNothing) {
  host_.fail_next_spawn = ENOENT;
  const auto started = supervisor_.start(0, SpawnRequest{});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().os_errno, ENOENT);
  EXPECT_EQ(supervisor_.running(), 0U);
}

TEST_F(SupervisorTest, OneRankIsKilledAndThatIsItsOwnEnd) {
  const pid_t first = start(0);
  const pid_t second = start(1);
  EXPECT_EQ(supervisor_.pid_of(1), second);
  EXPECT_EQ(supervisor_.pid_of(2), std::nullopt);
  supervisor_.kill(1);
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{second, SIGKILL}}));
  host_.end(second, ExitStatus{0, SIGKILL, false});
  supervisor_.reap();
  ASSERT_EQ(exits_.size(), 1U);
  EXPECT_FALSE(exits_[0].killed);
  supervisor_.kill(1);  // nobody is there
  EXPECT_EQ(host_.sent.size(), 1U);
  host_.end(first, {});
  supervisor_.reap();
}

}  // namespace
}  // namespace muster
