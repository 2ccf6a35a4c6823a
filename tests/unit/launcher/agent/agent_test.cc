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

// With a health check the first process is `muster doctor`.
class HealthCheckedAgentTest : public AgentTest {
 protected:
  static constexpr const char* kUnfit =
      R"({"findings":[{"id":"shm_size","severity":"error","what":"too small","remedy":""}]})";
  void start_checked(const std::string& report, Words words = {}) {
    files_.add_link("/proc/self/exe", "/bin/muster");
    processes_.next_prints = report;
    words.insert(words.end(), {"--health-check", "local"});
    ASSERT_TRUE(start(std::move(words)));
    ASSERT_FALSE(processes_.spawned.empty());
    EXPECT_EQ(processes_.spawned[0].program, "/bin/muster");
    EXPECT_EQ(processes_.spawned[0].arguments.at(1), "doctor");
    end(running().front(), ExitStatus{});
  }
};

TEST_F(HealthCheckedAgentTest, AFitNodeStartsItsWorkers) {
  environment_.set("MUSTER_JOB_SECRET", "s3cret");
  start_checked(R"({"findings":[{"id":"dns_self","severity":"warning","what":"w","remedy":""},)"
                R"({"id":"env_conflict","severity":"error","what":"of the user","remedy":""}]})");
  ASSERT_EQ(processes_.spawned.size(), 2U);
  EXPECT_EQ(processes_.spawned[1].program, kProgram);
  EXPECT_EQ(variable(0, "MUSTER_JOB_SECRET"), "") << "who looks commands nobody";
}

TEST_F(HealthCheckedAgentTest, OneThatIsNotEndsTheJobForAnotherTryElsewhere) {
  start_checked(kUnfit);
  EXPECT_EQ(processes_.spawned.size(), 1U);
  EXPECT_EQ(exit_code_, 75);
}

TEST_F(HealthCheckedAgentTest, ACheckThatFailsKeepsNobody) {
  start_checked("no JSON");
  EXPECT_EQ(processes_.spawned.size(), 2U);
}

TEST_F(HealthCheckedAgentTest, ItLooksAgainBeforeARestart) {
  start_checked(R"({"findings":[]})", {"--max-restarts", "1"});
  ASSERT_EQ(processes_.spawned.size(), 2U);
  processes_.next_prints = kUnfit;
  end(running().back(), ExitStatus{.code = 3});
  EXPECT_EQ(processes_.spawned.size(), 3U);
  EXPECT_EQ(exit_code_, 3) << "that of the worker is not lost";
}

TEST_F(HealthCheckedAgentTest, ASignalThatComesMeanwhileIsObeyed) {
  files_.add_link("/proc/self/exe", "/bin/muster");
  give({"--health-check", "local"});
  agent_.emplace(doors(), context(), std::make_unique<muster::testing::FakeDriver>(script_));
  agent_->on_finished([this](int exit_code) { exit_code_ = exit_code; });
  ASSERT_TRUE(agent_->start());
  ASSERT_EQ(processes_.spawned.size(), 1U);
  agent_->handle_signal({.number = SIGTERM, .sender = 1});
  idle();
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
  EXPECT_EQ(processes_.spawned.size(), 1U);
}

}  // namespace
}  // namespace muster::launcher
