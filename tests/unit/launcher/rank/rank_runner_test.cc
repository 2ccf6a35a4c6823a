// What `muster rank` says of a rank's end, and whether its launcher's signals came before. A real
// connection on loopback, a fake clock and fake processes.
#include "launcher/rank/rank_runner.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <unistd.h>

#include <algorithm>

#include "launcher/rank/rank_streams.h"
#include "mpi/rsh/rsh_door.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_process_host.h"

namespace muster::launcher {
namespace {

using Sent = testing::FakeProcessHost::Sent;

class RankRunnerTest : public ::testing::Test {
 protected:
  RankRunnerTest() {
    const auto agent = static_cast<uint64_t>(getpid());  // tests run side by side
    const auto listener = mpi::listen_at_door(mpi::rsh_commands_door_name(agent));
    runner_ = std::make_unique<RankRunner>(
        RankRunnerSetup{
            .loop = *loop_,
            .network = network_,
            .processes = processes_,
            .files = files_,
            .console = console_,
            .tls = nullptr,
            .setup = setup_,
            .agent = {"127.0.0.1", 1},
            .rank = {.run_id = "job",
                     .agent = agent,
                     .node = "node-2",
                     .round = 1,
                     .rank = 1,
                     .size = 2},
            .program = std::string("/usr/bin/ring"),
            .arguments = {"ring"},
            .environment = {},
            .label = {.rank = 1, .local_rank = 1, .role_name = "worker", .node = "node-2"},
            .streams = output_options({}, 2, ""),
            .pmi_fd = {}},
        [this](int exit_code, const std::string& why) {
          EXPECT_EQ(why, "");
          exit_code_ = exit_code;
        });
    runner_->start();
    UniqueFd accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    EXPECT_TRUE(accepted.is_open());
    agent_ = mpi::RshChannel::adopt(
        *loop_, {std::move(accepted), ""}, nullptr,
        {.on_open = [] {},
         .on_message =
             [this](const mpi::RshMessage& message) {
               if (const auto* end = std::get_if<mpi::rsh::RankEnd>(&message))
                 ends_.push_back(*end);
             },
         .on_closed = [](const Error&) {}});
    idle();
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void signal(int number, pid_t sender = 0) {
    runner_->handle_signal({.number = number, .sender = sender});
    idle();
  }
  void end(pid_t pid, const ExitStatus& status) { processes_.end(pid, status); }

  static constexpr pid_t kRank = 100;
  static constexpr pid_t kOrphan = 300;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealNetwork network_;
  testing::FakeProcessHost processes_;
  testing::FakeFiles files_;
  Console console_{*loop_, -1, -1};
  ProcessSetup setup_;
  std::unique_ptr<mpi::RshChannel> agent_;
  std::vector<mpi::rsh::RankEnd> ends_;
  std::optional<int> exit_code_;
  std::unique_ptr<RankRunner> runner_;
};

TEST_F(RankRunnerTest, ItsLaunchersSignalIsPassedOnAndTold) {
  signal(SIGTERM);
  EXPECT_EQ(processes_.sent, (std::vector<Sent>{{kRank, SIGTERM, /*group=*/false}}));
  end(kRank, {.signal = SIGTERM});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(ends_[0].signal, SIGTERM);
  EXPECT_EQ(ends_[0].told, SIGTERM);
}

TEST_F(RankRunnerTest, WhatItsContainerWasShortOfIsTold) {
  files_.set_space("/dev/shm", {64 << 20, 0});
  end(kRank, {.signal = SIGBUS});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_NE(ends_[0].shortage.find("/dev/shm is full"), std::string::npos);
  EXPECT_FALSE(ends_[0].out_of_memory);
}

TEST_F(RankRunnerTest, ARankThatEndsWellOrAsItWasToldWasShortOfNothing) {
  files_.set_space("/dev/shm", {64 << 20, 0});
  signal(SIGBUS);
  end(kRank, {.signal = SIGBUS});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(ends_[0].shortage, "");
}

TEST_F(RankRunnerTest, SignalsThatEndNothingAreNotTold) {
  signal(SIGCONT);
  end(kRank, {.code = 3});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(ends_[0].code, 3);
  EXPECT_EQ(ends_[0].told, 0);
}

// The kernel hands out SIGTERM before SIGCHLD when both wait.
TEST_F(RankRunnerTest, ARankThatWasGoneBeforeTheSignalDidNotEndBecauseOfIt) {
  end(kRank, {.signal = SIGKILL});
  signal(SIGTERM);
  signal(SIGCHLD);
  EXPECT_TRUE(processes_.sent.empty());
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(ends_[0].signal, SIGKILL);
  EXPECT_EQ(ends_[0].told, 0);
}

TEST_F(RankRunnerTest, WhoAskedFirstIsTold) {
  signal(SIGTERM, getppid());
  signal(SIGINT, 4711);
  end(kRank, {.signal = SIGTERM});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_FALSE(ends_[0].asked) << "its launcher did";
}

TEST_F(RankRunnerTest, ARankThatSavesHearsOfItOnce) {
  signal(SIGTERM, 4711);
  signal(SIGTERM, getppid());
  EXPECT_EQ(processes_.sent.size(), 1U);
  end(kRank, {});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_TRUE(ends_[0].asked) << "its agent did";
}

TEST_F(RankRunnerTest, WhatAShellLeavesBehindMaySave) {
  processes_.left = {{kOrphan, 1}};
  signal(SIGTERM);
  end(kRank, {.signal = SIGTERM});
  signal(SIGCHLD);
  EXPECT_TRUE(ends_.empty());
  EXPECT_EQ(processes_.sent.back(), (Sent{kOrphan, SIGTERM, false}));
  processes_.left.clear();
  end(kOrphan, {});
  signal(SIGCHLD);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(ends_[0].signal, SIGTERM);
}

TEST_F(RankRunnerTest, ItWaitsForTheOthersUntilItsLauncherEnds) {
  end(kRank, {.code = 3});
  signal(SIGCHLD);
  clock_.advance(std::chrono::minutes(1));
  idle();
  EXPECT_FALSE(exit_code_.has_value());
  signal(SIGTERM);
  clock_.advance(kRankLinger);
  idle();
  EXPECT_EQ(exit_code_, 3);
}

TEST_F(RankRunnerTest, ItStaysUntilItsReportIsNotedWhateverItsLauncherSays) {
  end(kRank, {.signal = SIGKILL});
  signal(SIGTERM);
  signal(SIGTERM);
  EXPECT_FALSE(exit_code_.has_value());
  agent_->send(mpi::rsh::Noted{});
  idle();
  EXPECT_EQ(exit_code_, 137);
}

TEST_F(RankRunnerTest, AnEndIsToldOnceThoughOrphansEndLater) {
  end(kOrphan, {});
  signal(SIGCHLD);
  EXPECT_TRUE(ends_.empty());
  end(kRank, {.code = 3});
  signal(SIGCHLD);
  end(kOrphan, {});
  signal(SIGCHLD);
  EXPECT_EQ(ends_.size(), 1U);
}

}  // namespace
}  // namespace muster::launcher
