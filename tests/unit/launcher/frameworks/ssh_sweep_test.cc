#include "launcher/frameworks/ssh_sweep.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <memory>
#include <utility>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

class SshSweepTest : public ::testing::Test {
 protected:
  void sweep(const std::vector<std::string>& hosts) {
    sweep_ = std::make_unique<SshSweep>(SshSweepSetup{.loop = *loop_,
                                                      .processes = processes_,
                                                      .environment = {"A=b"},
                                                      .folder = "/tmp/ssh",
                                                      .token = "c0ffee"},
                                        hosts, [this] {
                                          ++done_;
                                          sweep_.reset();
                                        });
  }
  void end(ExitStatus status) {
    const pid_t pid = processes_.alive().begin()->first;
    processes_.end(pid, status);
    const auto reaped = processes_.reap();
    ASSERT_TRUE(reaped);
    EXPECT_TRUE(sweep_->process_exited(*reaped));
  }
  void advance(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  bool logged(std::string_view text) const { return log_.text().find(text) != std::string::npos; }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeProcessHost processes_;
  testing::CapturedLog log_;
  std::unique_ptr<SshSweep> sweep_;
  int done_ = 0;
};

TEST_F(SshSweepTest, NoHostsAreDoneAtOnceButNotBeforeTheLoopTurns) {
  sweep({});
  EXPECT_EQ(done_, 0);
  advance({});
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(SshSweepTest, WhatWasFoundAndWhoWasNotReachedIsSaid) {
  sweep({"clean", "left", "gone", "killed"});
  ASSERT_EQ(processes_.spawned.size(), 4U);
  const SpawnRequest& ssh = processes_.spawned[1];
  EXPECT_EQ(ssh.program, "/tmp/ssh/ssh");
  EXPECT_EQ(ssh.environment, (std::vector<std::string>{"A=b"}));
  ASSERT_GE(ssh.arguments.size(), 2U);
  EXPECT_EQ(ssh.arguments.end()[-2], "left");
  EXPECT_EQ(ssh.arguments.back(), sweep_command("c0ffee"));
  EXPECT_FALSE(sweep_->process_exited({.pid = 1, .status = {}}));
  end({});
  end({.code = kSweptSome});
  end({.code = 255});
  EXPECT_EQ(done_, 0);
  end({.signal = SIGTERM});
  advance({});
  EXPECT_EQ(done_, 1);
  EXPECT_TRUE(logged("mpi.swept ") && logged("hosts=left\n")) << log_.text();
  EXPECT_TRUE(logged("mpi.not_swept ") && logged("hosts=gone,killed\n")) << log_.text();
  advance(kSshSweepDeadline);
  EXPECT_EQ(done_, 1);
}

TEST_F(SshSweepTest, ManyTakeTurnsAndTheDeadlineIsForAll) {
  std::vector<std::string> hosts;
  for (size_t k = 0; k < kMaxSshSweeps + 2; ++k) hosts.push_back("worker-" + std::to_string(k));
  processes_.fail_next_spawn = EAGAIN;
  sweep(hosts);
  EXPECT_EQ(processes_.spawned.size(), kMaxSshSweeps);
  end({});
  EXPECT_EQ(processes_.spawned.size(), kMaxSshSweeps + 1);
  advance(kSshSweepDeadline);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(processes_.sent.size(), kMaxSshSweeps);
  EXPECT_EQ(processes_.sent[0],
            (testing::FakeProcessHost::Sent{processes_.sent[0].pid, SIGKILL, true}));
  EXPECT_TRUE(logged("hosts=worker-0,worker-2,")) << log_.text();
}

// The command itself, by this machine's shell.
class SweepCommand : public ::testing::Test {
 protected:
  ExitStatus wait_for(pid_t pid) {
    while (ended_.count(pid) == 0) {
      if (const auto reaped = processes_.reap()) ended_[reaped->pid] = reaped->status;
    }
    return ended_[pid];
  }
  pid_t start(std::vector<std::string> arguments, std::vector<std::string> environment) {
    SpawnRequest request;
    request.program = arguments[0];
    request.arguments = std::move(arguments);
    request.environment = std::move(environment);
    const auto pid = processes_.spawn(request);
    EXPECT_TRUE(pid) << (pid ? "" : pid.error().text);
    return pid ? *pid : -1;
  }
  ExitStatus sweep(const std::string& token, std::vector<std::string> environment = {}) {
    environment.emplace_back("PATH=/usr/bin:/bin");
    return wait_for(start({"/bin/sh", "-c", sweep_command(token)}, std::move(environment)));
  }
  RealProcessHost processes_;
  std::map<pid_t, ExitStatus> ended_;
};

TEST_F(SweepCommand, EndsWhatHasTheTokenAndNothingElse) {
  const std::string token = "5eed" + std::to_string(getpid());
  const pid_t ours = start({"/bin/sleep", "100"}, {"MUSTER_AGENT_ID=" + token});
  const pid_t other = start({"/bin/sleep", "100"}, {"MUSTER_AGENT_ID=other"});
  EXPECT_EQ(sweep(token).describe(), "exit code " + std::to_string(kSweptSome));
  EXPECT_EQ(wait_for(ours).signal, SIGTERM);
  EXPECT_TRUE(sweep(token).success());
  EXPECT_TRUE(processes_.signal_child(other, SIGTERM));
  EXPECT_EQ(wait_for(other).signal, SIGTERM);
}

TEST_F(SweepCommand, KillsWhatStays) {
  const std::string token = "57a1" + std::to_string(getpid());
  const pid_t deaf = start({"/bin/sh", "-c", "trap '' TERM; while :; do /bin/sleep 100; done"},
                           {"MUSTER_AGENT_ID=" + token});
  EXPECT_EQ(sweep(token).describe(), "exit code " + std::to_string(kSweptSome));
  EXPECT_EQ(wait_for(deaf).signal, SIGKILL);
  EXPECT_TRUE(sweep(token).success());
}

// Its end is seen by the sweep, but collected only later: what has ended is not left.
TEST_F(SweepCommand, LeavesWhatEndsByItself) {
  const std::string token = "1ea5" + std::to_string(getpid());
  const pid_t leaver = start({"/bin/sleep", "0.05"}, {"MUSTER_AGENT_ID=" + token});
  EXPECT_TRUE(sweep(token).success());
  EXPECT_TRUE(wait_for(leaver).success());
}

TEST_F(SweepCommand, SparesItself) {
  const std::string token = "5e1f" + std::to_string(getpid());
  EXPECT_TRUE(sweep(token, {"SSH_ORIGINAL_COMMAND=" + sweep_command(token)}).success());
}

TEST_F(SweepCommand, FindsALoginShellThatStillReadsItsFiles) {
  const std::string token = "5105" + std::to_string(getpid());
  const pid_t shell = start(
      {"/bin/sh", "-c", "while :; do /bin/sleep 0.05; done", marked_command(token, "true")}, {});
  EXPECT_EQ(sweep(token).describe(), "exit code " + std::to_string(kSweptSome));
  EXPECT_EQ(wait_for(shell).signal, SIGTERM);
}

// As an SSH server starts it, by each login shell.
class MarkedCommand : public SweepCommand, public ::testing::WithParamInterface<const char*> {};

TEST_P(MarkedCommand, RunsInTheLoginShellWithTheTokenAndIsFound) {
  const std::string token = "3a2c" + std::to_string(getpid());
  const std::string shell = GetParam();
  const auto run = [&](std::string_view command) {
    return start({shell, "-c", marked_command(token, command)},
                 {"SHELL=" + shell, "PATH=/usr/bin:/bin"});
  };
  EXPECT_EQ(wait_for(run("test \"$MUSTER_AGENT_ID\" = " + token + " && exit 7")).code, 7);
  EXPECT_EQ(wait_for(run("test 'a!b c' = \"a!b\"' c' && exit 8")).code,
            shell == "/bin/tcsh" ? 1 : 8);  // as without the mark: it looks for an event b
  EXPECT_EQ(wait_for(run("test ! -r /none && test \"$SHELL\" = " + shell + " && exit 9")).code, 9);
  const pid_t left = run("cd /; exec sleep 100");
  EXPECT_EQ(sweep(token).describe(), "exit code " + std::to_string(kSweptSome));
  EXPECT_EQ(wait_for(left).signal, SIGTERM);
}

INSTANTIATE_TEST_SUITE_P(Shells, MarkedCommand,
                         ::testing::Values("/bin/sh", "/bin/bash", "/bin/tcsh"));

TEST(MarkedCommandText, AServerThatNamesNoShellUsesSh) {
  EXPECT_EQ(marked_command("c0ffee", "echo it's"),
            "exec /bin/sh -c 'MUSTER_AGENT_ID=c0ffee; export MUSTER_AGENT_ID; "
            "exec \"${SHELL:-/bin/sh}\" -c \"$0\"' 'echo it'\\''s'");
}

}  // namespace
}  // namespace muster::launcher
