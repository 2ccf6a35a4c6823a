#include "launcher/agent/agent.h"

#include <gtest/gtest.h>

#include "tests/support/conductor_test.h"

namespace muster::launcher {
namespace {

using AgentTest = ConductorTest<Agent>;

TEST_F(AgentTest, TheJobEndsWithZeroOnceEveryWorkerSucceeded) {
  ASSERT_TRUE(start({"--nproc-per-node", "2"}));
  const std::vector<pid_t> workers = running();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(processes_.spawned[1].program, kProgram);
  end(workers[0], ExitStatus{});
  EXPECT_EQ(exit_code_, std::nullopt);
  end(workers[1], ExitStatus{});
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(AgentTest, TheFirstFailedWorkersCodeIsTheJobs) {
  ASSERT_TRUE(start({"--nproc-per-node", "2"}));
  const std::vector<pid_t> workers = running();
  ASSERT_EQ(workers.size(), 2U);
  end(workers[1], ExitStatus{.code = 3});
  // The other one is told to end, and how it ends says nothing.
  EXPECT_EQ(std::ranges::count(processes_.sent, Sent{workers[0], SIGTERM, false}), 1);
  end_rest(ExitStatus{.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 3);
}

TEST_F(AgentTest, AFailedAttemptIsFollowedByAnotherWithinTheBudget) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  end_rest(ExitStatus{.code = 3});
  EXPECT_EQ(exit_code_, std::nullopt);
  ASSERT_EQ(processes_.spawned.size(), 2U);
  end_rest(ExitStatus{.code = 4});
  EXPECT_EQ(exit_code_, 4);
  EXPECT_EQ(processes_.spawned.size(), 2U);
}

TEST_F(AgentTest, AWorkerThatStartsAgainAloneUsesTheBudgetOfAll) {
  script_.apart = 9;
  script_.asks = true;
  ASSERT_TRUE(start({"--nproc-per-node", "2", "--max-restarts", "1"}));
  const std::vector<pid_t> workers = running();
  end(workers[0], ExitStatus{.code = 3});
  ASSERT_EQ(running().size(), 2U);
  EXPECT_FALSE(std::ranges::count(processes_.sent, Sent{workers[1], SIGTERM, false}));
  end(workers[1], ExitStatus{.code = 4});
  end_rest(ExitStatus{.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 4);
  EXPECT_EQ(processes_.spawned.size(), 3U);
}

TEST_F(AgentTest, ASignalStopsTheWorkersAndIsToldAsAShellDoes) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  const std::vector<pid_t> workers = running();
  agent_->handle_signal({.number = SIGTERM, .sender = 1});
  idle();
  EXPECT_EQ(processes_.sent.back(), (Sent{workers[0], SIGTERM, false}));
  end_rest(ExitStatus{.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
  EXPECT_EQ(processes_.spawned.size(), 1U);
}

TEST_F(AgentTest, WhoDoesNotEndWithinTheGraceIsKilled) {
  ASSERT_TRUE(start({"--grace-period", "10s"}));
  agent_->handle_signal({.number = SIGTERM, .sender = 1});
  pass(std::chrono::seconds(10));
  reap();
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
}

TEST_F(AgentTest, TheDriverHearsOfEachPartOfTheJob) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  end_rest(ExitStatus{.code = 3});
  end_rest(ExitStatus{});
  EXPECT_EQ(script_.calls, (std::vector<std::string>{
                               "start", "check /app/worker", "begin_attempt 0 of 1", "ended 0",
                               "begin_attempt 1 of 1", "succeeded 0", "group_ended", "clean_up"}));
}

TEST_F(AgentTest, TheDriverDecidesWhetherTheJobSucceeded) {
  script_.success = true;
  ASSERT_TRUE(start({}));
  end_rest(ExitStatus{.code = 3});
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(AgentTest, AFailureThatTheDriverTellsIsThatOfTheJob) {
  ASSERT_TRUE(start({"--max-restarts", "3"}));
  elastic::FailureRecord record;
  record.rank = elastic::kNoRank;
  record.node = "node-1";
  record.reason = "the tracker lost a worker";
  record.status.code = 9;
  record.failure_class = elastic::FailureClass::kInfrastructure;
  script_.host->failed(record);
  script_.host->end_workers(std::chrono::seconds(2));
  idle();
  end_rest({.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 9);
  EXPECT_EQ(processes_.spawned.size(), 1U) << "no other attempt follows";
}

TEST_F(AgentTest, ARoundOfOneNodeHasItsRosterToo) {
  script_.card = "port 7";
  ASSERT_TRUE(start({"--nproc-per-node", "3"}));
  ASSERT_EQ(script_.roster.size(), 1U);
  EXPECT_EQ(script_.roster[0].identity.name, "node-1");
  EXPECT_EQ(script_.roster[0].workers, 3);
  EXPECT_EQ(script_.roster[0].note, "port 7");
}

TEST_F(AgentTest, WithoutItsProgramNothingIsStarted) {
  const Status started = start({}, "/app/missing");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kExec);
  EXPECT_TRUE(processes_.spawned.empty());
}

}  // namespace
}  // namespace muster::launcher
