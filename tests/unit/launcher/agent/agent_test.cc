#include "launcher/agent/agent.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

using Sent = testing::FakeProcessHost::Sent;

constexpr const char* kProgram = "/app/worker";

// A whole job of one node, with processes that start and end as the test says.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    files_.add_executable(kProgram);
    setup_.fd_limit = 1024;
  }

  Status start(Words words, const char* program = kProgram) {
    words.emplace_back("--no-python");
    options_ = muster(words);
    options_.program = program;
    agent_.emplace(AgentDoors{*loop_, clock_, processes_, files_, network_, resolver_, console_},
                   AgentContext{.options = options_,
                                .environment = environment_,
                                .setup = setup_,
                                .node = "node-1",
                                .token = "token",
                                .folder = ::testing::TempDir() + "agent-test",
                                .is_pid_one = true});  // so that no guardian is among the processes
    agent_->on_finished([this](int exit_code) { exit_code_ = exit_code; });
    Status started = agent_->start();
    idle();
    return started;
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  [[nodiscard]] std::vector<pid_t> running() const {
    std::vector<pid_t> pids;
    for (const auto& [pid, program] : processes_.alive()) pids.push_back(pid);
    return pids;
  }
  void end(pid_t pid, ExitStatus status) {
    processes_.end(pid, status);
    agent_->handle_signal({.number = SIGCHLD});
    idle();
  }
  void end_all(ExitStatus status) {
    for (const pid_t pid : running()) processes_.end(pid, status);
    agent_->handle_signal({.number = SIGCHLD});
    idle();
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeNetwork network_;
  testing::FakeFiles files_;
  testing::FakeProcessHost processes_;
  testing::FakeResolver resolver_{*loop_};
  Console console_{*loop_};
  ProcessSetup setup_;
  Environment environment_;
  Options options_;
  std::optional<int> exit_code_;
  std::optional<Agent> agent_;
};

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
  EXPECT_TRUE(std::ranges::count(processes_.sent, Sent{workers[0], SIGTERM, false}) == 1);
  end_all(ExitStatus{.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 3);
}

TEST_F(AgentTest, AFailedAttemptIsFollowedByAnotherWithinTheBudget) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  end_all(ExitStatus{.code = 3});
  EXPECT_EQ(exit_code_, std::nullopt);
  ASSERT_EQ(processes_.spawned.size(), 2U);
  end_all(ExitStatus{.code = 4});
  EXPECT_EQ(exit_code_, 4);
  EXPECT_EQ(processes_.spawned.size(), 2U);
}

TEST_F(AgentTest, ASignalStopsTheWorkersAndIsToldAsAShellDoes) {
  ASSERT_TRUE(start({"--max-restarts", "1"}));
  const std::vector<pid_t> workers = running();
  agent_->handle_signal({.number = SIGTERM, .sender = 1});
  idle();
  EXPECT_EQ(processes_.sent.back(), (Sent{workers[0], SIGTERM, false}));
  end_all(ExitStatus{.signal = SIGTERM});
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
  EXPECT_EQ(processes_.spawned.size(), 1U);
}

TEST_F(AgentTest, WhoDoesNotEndWithinTheGraceIsKilled) {
  ASSERT_TRUE(start({"--grace-period", "10s"}));
  agent_->handle_signal({.number = SIGTERM, .sender = 1});
  clock_.advance(std::chrono::seconds(10));
  idle();
  agent_->handle_signal({.number = SIGCHLD});
  idle();
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(exit_code_, 128 + SIGTERM);
}

TEST_F(AgentTest, WithoutItsProgramNothingIsStarted) {
  const Status started = start({}, "/app/missing");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kExec);
  EXPECT_TRUE(processes_.spawned.empty());
}

}  // namespace
}  // namespace muster::launcher
