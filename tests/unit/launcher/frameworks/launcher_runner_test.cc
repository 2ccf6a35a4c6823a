// What the process above a called launcher says of it, and how it ends. A real connection on
// loopback, a fake clock and fake processes.
#include "launcher/frameworks/launcher_runner.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"

namespace muster::launcher {
namespace {

using Sent = testing::FakeProcessHost::Sent;

class LauncherRunnerTest : public ::testing::Test {
 protected:
  LauncherRunnerTest() {
    const auto listener = network_.listen({"127.0.0.1", 0});
    SpawnRequest watched;
    watched.program = "/usr/bin/mpirun";
    watched.arguments = {"watched"};
    SpawnRequest unwatched = watched;
    unwatched.arguments = {"unwatched"};
    runner_ = std::make_unique<LauncherRunner>(
        LauncherRunnerSetup{.loop = *loop_,
                            .network = network_,
                            .processes = processes_,
                            .tls = nullptr,
                            .agent = *network_.local_address(listener->get()),
                            .launcher = {.run_id = "job", .name = "mpirun", .round = 1, .pid = 77},
                            .watched = std::move(watched),
                            .unwatched = std::move(unwatched)},
        [this](Result<ExitStatus> result) {
          result_ = result ? result->describe() : result.error().text;
        });
    runner_->start();
    auto accepted = network_.accept(listener->get());
    EXPECT_TRUE(accepted);
    agent_ = RshChannel::adopt(*loop_, std::move(*accepted), "", nullptr,
                               {.on_open = [] {},
                                .on_message =
                                    [this](const RshMessage& message) {
                                      if (const auto* begin = std::get_if<rsh::Launcher>(&message))
                                        begun_ = *begin;
                                      if (const auto* end = std::get_if<rsh::LauncherEnd>(&message))
                                        ended_ = *end;
                                    },
                                .on_closed = [](const Error&) {}});
    idle();
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void say(const RshMessage& message) {
    agent_->send(message);
    idle();
  }
  void signal(int number) {
    runner_->handle_signal(number);
    idle();
  }
  void end(const ExitStatus& status) {
    processes_.end(kLauncher, status);
    signal(SIGCHLD);
  }
  std::string started_with() const {
    return processes_.spawned.empty() ? "" : processes_.spawned.back().arguments[0];
  }

  static constexpr pid_t kLauncher = 100;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealNetwork network_;
  testing::FakeProcessHost processes_;
  std::unique_ptr<RshChannel> agent_;
  std::optional<rsh::Launcher> begun_;
  std::optional<rsh::LauncherEnd> ended_;
  std::string result_;  // "" = it goes on
  std::unique_ptr<LauncherRunner> runner_;
};

TEST_F(LauncherRunnerTest, TheLauncherStartsOnceTheAgentKnowsOfIt) {
  ASSERT_TRUE(begun_.has_value());
  EXPECT_EQ(begun_->pid, 77U);
  EXPECT_EQ(started_with(), "");
  say(rsh::Noted{});
  EXPECT_EQ(started_with(), "watched");
}

TEST_F(LauncherRunnerTest, ItEndsAsTheLauncherOnceThatIsNoted) {
  say(rsh::Noted{});
  end({.code = 3});
  ASSERT_TRUE(ended_.has_value());
  EXPECT_EQ(ended_->code, 3);
  EXPECT_EQ(result_, "");
  say(rsh::Noted{});
  EXPECT_EQ(result_, "exit code 3");
}

TEST_F(LauncherRunnerTest, ASignalEndsItAsWell) {
  say(rsh::Noted{});
  end({.signal = SIGTERM});
  say(rsh::Noted{});
  EXPECT_EQ(ended_->signal, SIGTERM);
  EXPECT_EQ(result_, "SIGTERM");
}

TEST_F(LauncherRunnerTest, SignalsArePassedOnAlsoEarlyOnes) {
  signal(SIGUSR1);
  EXPECT_TRUE(processes_.sent.empty());
  say(rsh::Noted{});
  signal(SIGTERM);
  EXPECT_EQ(processes_.sent,
            (std::vector<Sent>{{kLauncher, SIGUSR1, false}, {kLauncher, SIGTERM, false}}));
}

TEST_F(LauncherRunnerTest, RefusedItStartsTheLauncherAllTheSame) {
  agent_->send(rsh::Refused{255, "no"});
  agent_->finish();
  idle();
  EXPECT_EQ(started_with(), "unwatched");
  end({.code = 4});
  EXPECT_EQ(result_, "exit code 4");
}

TEST_F(LauncherRunnerTest, WithoutTheAgentItGoesOn) {
  say(rsh::Noted{});
  agent_.reset();
  idle();
  EXPECT_EQ(result_, "");
  end({.code = 5});
  EXPECT_EQ(result_, "exit code 5");
}

TEST_F(LauncherRunnerTest, AnAgentThatDoesNotAnswerIsNotWaitedForLong) {
  say(rsh::Noted{});
  end({.code = 5});
  clock_.advance(kLauncherReportDeadline);
  idle();
  EXPECT_EQ(result_, "exit code 5");
}

TEST_F(LauncherRunnerTest, OneThatHangsIsKilledWithAllItLeftAndHasEndedWith0) {
  processes_.stray_descendants = 1;
  say(rsh::Noted{});
  say(rsh::LauncherHangs{});
  EXPECT_EQ(processes_.sent, (std::vector<Sent>{{kLauncher, SIGKILL, false}}));
  end({.signal = SIGKILL});
  EXPECT_FALSE(ended_.has_value());
  clock_.advance(kLauncherSweepInterval);
  idle();
  EXPECT_EQ(processes_.stray_descendants, 0U);
  ASSERT_TRUE(ended_.has_value());
  EXPECT_EQ(ended_->code, 0);
  EXPECT_EQ(ended_->signal, 0);
  say(rsh::Noted{});
  EXPECT_EQ(result_, "exit code 0");
}

TEST_F(LauncherRunnerTest, OneThatEndedByItselfBeforeItWasKilledKeepsItsExitCode) {
  say(rsh::Noted{});
  say(rsh::LauncherHangs{});
  end({.code = 3});
  ASSERT_TRUE(ended_.has_value());
  EXPECT_EQ(ended_->code, 3);
}

TEST_F(LauncherRunnerTest, WhatCannotBeKilledIsNotWaitedForLong) {
  processes_.stray_descendants = 1;
  processes_.strays_are_stuck = true;
  say(rsh::Noted{});
  say(rsh::LauncherHangs{});
  end({.signal = SIGKILL});
  clock_.advance(kLauncherSweepDeadline);
  idle();
  EXPECT_TRUE(ended_.has_value());
}

TEST_F(LauncherRunnerTest, ALauncherThatCannotBeStarted) {
  processes_.fail_next_spawn = ENOENT;
  say(rsh::Noted{});
  EXPECT_EQ(result_, "exec '/usr/bin/mpirun': No such file or directory");
}

TEST_F(LauncherRunnerTest, OrphansOfTheLauncherMeanNothing) {
  say(rsh::Noted{});
  processes_.end(300, {.code = 1});
  signal(SIGCHLD);
  EXPECT_FALSE(ended_.has_value());
}

}  // namespace
}  // namespace muster::launcher
