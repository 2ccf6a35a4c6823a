#include "launcher/agent/node_agent.h"

#include <gtest/gtest.h>

#include <csignal>

#include "launcher/report/exit_codes.h"
#include "tests/support/conductor_test.h"

namespace muster::launcher {
namespace {

using Calls = std::vector<std::string>;

// A job of one node that has everything of a job of many: a leader, rounds, a driver.
class NodeAgentTest : public ConductorTest<NodeAgent> {
 protected:
  Status start(Words words, const char* program = kProgram) {
    words.emplace_back("--standalone");
    return ConductorTest::start(std::move(words), program);
  }
  void tell(int signal) {
    agent_->handle_signal({.number = signal, .sender = 1});
    idle();
  }
  // Of something that is no worker.
  static elastic::FailureRecord failure(const char* reason, int code) {
    elastic::FailureRecord record;
    record.rank = elastic::kNoRank;
    record.node = "node-1";
    record.reason = reason;
    record.status.code = code;
    record.failure_class = elastic::FailureClass::kInfrastructure;
    return record;
  }
  [[nodiscard]] bool was_called(const std::string& call) const {
    return std::ranges::count(script_.calls, call) > 0;
  }
};

TEST_F(NodeAgentTest, ARoundIsPreparedAndThenBegun) {
  ASSERT_TRUE(start({"--nproc-per-node", "2"}));
  EXPECT_EQ(running().size(), 2U);
  EXPECT_EQ(script_.calls,
            (Calls{"start", "check /app/worker", "prepare_round 1", "begin_attempt 0 of 2"}));
  EXPECT_EQ(variable(1, "RANK"), "1");
  end_rest({});
  EXPECT_EQ(exit_code_, 0);
  EXPECT_TRUE(was_called("leave"));
  EXPECT_EQ(script_.calls.back(), "clean_up");
}

TEST_F(NodeAgentTest, NobodyIsJoinedBeforeTheDriverIsPrepared) {
  script_.preparing = true;
  ASSERT_TRUE(start({}));
  EXPECT_FALSE(was_called("prepare_round 1"));
  script_.preparing = false;
  script_.host->prepared({});
  idle();
  EXPECT_EQ(running().size(), 1U);
}

TEST_F(NodeAgentTest, ADriverThatCannotPrepareEndsTheJobHere) {
  script_.preparing = true;
  ASSERT_TRUE(start({}));
  script_.preparing = false;
  script_.host->prepared(Error{Code::kConfig, 0, "no keys"});
  idle();
  EXPECT_TRUE(processes_.spawned.empty());
  EXPECT_EQ(exit_code_, kExitConfig);
}

TEST_F(NodeAgentTest, AFailedRoundIsFollowedByAnotherWithinTheBudget) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  end_rest({.code = 3});
  ASSERT_EQ(processes_.spawned.size(), 2U);
  EXPECT_TRUE(was_called("prepare_round 2"));
  EXPECT_EQ(variable(1, "TORCHELASTIC_RESTART_COUNT"), "1");
  end_rest({.code = 4});
  EXPECT_EQ(exit_code_, 4);
}

TEST_F(NodeAgentTest, TheDriverDecidesWhetherTheNodeSucceeded) {
  script_.success = true;
  ASSERT_TRUE(start({"--nproc-per-node", "2"}));
  processes_.end(running()[0], {});
  reap();
  EXPECT_EQ(exit_code_, std::nullopt);
  end_rest({});
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(NodeAgentTest, TheRoundEndsOnlyOnceTheDriverHasSettled) {
  script_.holds = true;
  script_.success = false;
  ASSERT_TRUE(start({}));
  end_rest({.code = 5});
  EXPECT_EQ(exit_code_, std::nullopt);
  script_.host->failed(failure("a rank on node-2 called abort", 9));
  idle();
  script_.settle();
  idle();
  EXPECT_EQ(exit_code_, 9) << "what the driver knows explains the launcher's own code";
}

TEST_F(NodeAgentTest, AFailureThatTheDriverTellsIsThatOfTheJob) {
  ASSERT_TRUE(start({}));
  const auto workers = running();
  script_.host->failed(failure("the tracker lost a worker", 1));
  script_.host->end_workers(std::chrono::seconds(2));
  idle();
  EXPECT_TRUE(was_sent(workers[0], SIGTERM));
  end_rest({.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(NodeAgentTest, ToldToGoItGivesTheDriverTime) {
  ASSERT_TRUE(start({}));
  const auto workers = running();
  tell(SIGTERM);
  EXPECT_TRUE(was_sent(workers[0], SIGTERM));
  end_rest({.signal = SIGTERM});
  pass(std::chrono::seconds(2));
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
  EXPECT_TRUE(was_called("leave with grace"));
}

TEST_F(NodeAgentTest, WhoDoesNotEndWithinTheGraceIsKilled) {
  ASSERT_TRUE(start({"--grace-period", "4s"}));
  tell(SIGTERM);
  for (int second = 0; second < 8; ++second) {
    pass(std::chrono::seconds(1));
    reap();
  }
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
}

TEST_F(NodeAgentTest, WithoutItsProgramNothingIsStarted) {
  const Status started = start({}, "/app/missing");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kExec);
  EXPECT_TRUE(processes_.spawned.empty());
}

TEST_F(NodeAgentTest, ANodeThatIsNotFitWaitsAndLooksAgain) {
  files_.add_link("/proc/self/exe", "/bin/muster");
  processes_.next_prints =
      R"({"findings":[{"id":"memlock","severity":"error","what":"64 KiB","remedy":""}]})";
  ASSERT_TRUE(start({"--health-check", "local", "--health-cooldown", "5s"}));
  ASSERT_EQ(processes_.spawned.size(), 1U);
  EXPECT_TRUE(was_called("round_over"));
  processes_.next_prints = R"({"findings":[]})";
  for (int second = 0; second < 6; ++second) pass(std::chrono::seconds(1));
  ASSERT_EQ(processes_.spawned.size(), 3U);
  EXPECT_EQ(processes_.spawned[2].program, kProgram);
}

}  // namespace
}  // namespace muster::launcher
