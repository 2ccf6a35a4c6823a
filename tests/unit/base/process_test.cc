// The real process host, with real children. No sleeping: every wait is a blocking read of a pipe
// that the child holds.
#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/process_tree.h"
#include "base/text.h"

namespace muster {
namespace {

class ProcessTest : public ::testing::Test {
 protected:
  // A shell that starts us in the background has these ignored.
  ProcessTest() {
    for (const int number : {SIGHUP, SIGINT, SIGQUIT}) signal(number, SIG_DFL);
  }

  RealProcessHost host_;

  static SpawnRequest shell(const std::string& script) {
    SpawnRequest request;
    request.program = "/bin/sh";
    request.arguments = {"sh", "-c", script};
    request.environment = {"PATH=/usr/bin:/bin"};
    sigemptyset(&request.signal_mask);
    return request;
  }
  // Blocks until a child has ended, then reaps.
  Reaped wait_and_reap() {
    siginfo_t info{};
    EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    return host_.reap().value_or(Reaped{});
  }
  // Everything the child prints until all holders of its stdout are gone.
  std::string output_of(SpawnRequest request) {
    Pipe pipe = std::move(*make_pipe());
    request.stdout_fd = pipe.write_end.get();
    EXPECT_TRUE(host_.spawn(request));
    pipe.write_end.reset();
    std::string text;
    char chunk[512];
    ssize_t got;
    while ((got = read(pipe.read_end.get(), chunk, sizeof chunk)) > 0)
      text.append(chunk, static_cast<size_t>(got));
    (void)wait_and_reap();
    return text;
  }
};

TEST_F(ProcessTest, ExitCodesAndSignalsAreTold) {
  const auto exits = host_.spawn(shell("exit 7"));
  ASSERT_TRUE(exits);
  Reaped reaped = wait_and_reap();
  EXPECT_EQ(reaped.pid, *exits);
  EXPECT_TRUE(reaped.spawned_by_us);
  EXPECT_EQ(reaped.status.shell_code(), 7);
  EXPECT_EQ(reaped.status.describe(), "exit code 7");

  const auto killed = host_.spawn(shell("kill -TERM $$"));
  ASSERT_TRUE(killed);
  reaped = wait_and_reap();
  EXPECT_EQ(reaped.status.shell_code(), 143);
  EXPECT_EQ(reaped.status.describe(), "SIGTERM");
  EXPECT_FALSE(reaped.status.success());
}

TEST_F(ProcessTest, ExecFailuresComeBackAsValuesAndLeaveNoChild) {
  SpawnRequest request = shell("");
  request.program = "/does/not/exist";
  auto spawned = host_.spawn(request);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().os_errno, ENOENT);
  EXPECT_EQ(spawned.error().text, "exec '/does/not/exist': No such file or directory");

  request.program = "/etc/passwd";
  spawned = host_.spawn(request);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().os_errno, EACCES);
  EXPECT_FALSE(host_.reap());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(ProcessTest, AChildInheritsNothingButTheStandardDescriptors) {
  const int inheritable =
      dup(STDOUT_FILENO);  // without close-on-exec, as a careless parent leaves it
  ASSERT_GE(inheritable, 3);
  const std::string listed =
      output_of(shell("for fd in /proc/self/fd/*; do echo -n \"${fd##*/} \"; done"));
  close(inheritable);
  // The shell itself opens one for the listing.
  EXPECT_TRUE(listed.starts_with("0 1 2 ")) << listed;
  EXPECT_LE(split(trim(listed), ' ').size(), 4U) << listed;
}

TEST_F(ProcessTest, OneMoreDescriptorIsKept) {
  Pipe pipe = std::move(*make_pipe());
  ASSERT_EQ(write(pipe.write_end.get(), "hello", 5), 5);
  pipe.write_end.reset();
  const std::string number = std::to_string(pipe.read_end.get());
  SpawnRequest request =
      shell("cat <&" + number + "; for fd in /proc/self/fd/*; do echo -n \" ${fd##*/}\"; done");
  request.kept_fd = pipe.read_end.get();
  const std::string text = output_of(std::move(request));
  EXPECT_TRUE(text.starts_with("hello 0 1 2 " + number + " ")) << text;
  EXPECT_LE(split(text, ' ').size(), 6U) << text;  // and the shell's own, for the listing
}

TEST_F(ProcessTest, AChildLeadsItsOwnSessionAndHasTheGivenMask) {
  const std::string status =
      output_of(shell("grep SigBlk /proc/self/status; cut -d' ' -f6 /proc/$$/stat; echo $$"));
  const auto lines = split(trim(status), '\n');
  ASSERT_EQ(lines.size(), 3U) << status;
  EXPECT_TRUE(lines[0].ends_with("0000000000000000")) << status;
  EXPECT_EQ(lines[1], lines[2]);
}

// The line "SigIgn: <hex>" as bits. Without 32 and 33, which are glibc's own: its posix_spawn, by
// which make starts us, leaves 32 ignored, and sigaction refuses to change that.
uint64_t ignored_signals(const std::string& line) {
  constexpr uint64_t kSignalsOfGlibc = 0x1'8000'0000;
  return std::stoull(line.substr(line.find('\t') + 1), nullptr, 16) & ~kSignalsOfGlibc;
}

TEST_F(ProcessTest, SigpipeIsAsItWasBeforeWeIgnoredItAndOtherDispositionsAreInherited) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction pipe_before {};
  struct sigaction hang_up_before {};
  sigaction(SIGPIPE, &ignore, &pipe_before);
  sigaction(SIGHUP, &ignore, &hang_up_before);
  const std::string script = "grep SigIgn /proc/self/status";
  SpawnRequest request = shell(script);
  const std::string with_default = output_of(request);
  request.ignore_sigpipe = true;
  const std::string with_ignored = output_of(request);
  sigaction(SIGPIPE, &pipe_before, nullptr);
  sigaction(SIGHUP, &hang_up_before, nullptr);
  EXPECT_EQ(ignored_signals(with_default), 0x0001U) << with_default;  // bit 0 is SIGHUP
  EXPECT_EQ(ignored_signals(with_ignored), 0x1001U) << with_ignored;  // bit 12 is SIGPIPE
}

TEST_F(ProcessTest, AChildRunsOnTheGivenCpus) {
  const auto allowed = allowed_cpus();
  ASSERT_TRUE(allowed);
  SpawnRequest request = shell("grep Cpus_allowed_list /proc/self/status");
  request.cpus = {allowed->back()};
  const std::string text = output_of(request);
  EXPECT_EQ(trim(text.substr(text.find(':') + 1)), std::to_string(allowed->back()));
}

TEST_F(ProcessTest, AChildGetsTheGivenDescriptorLimit) {
  SpawnRequest request = shell("ulimit -n");
  request.fd_limit = 77;
  EXPECT_EQ(trim(output_of(request)), "77");
}

TEST_F(ProcessTest, SignalsReachOnlyChildrenThatAreNotReaped) {
  const auto pid = host_.spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(pid);
  EXPECT_TRUE(host_.signal_child(*pid, SIGKILL));
  EXPECT_EQ(wait_and_reap().status.signal, SIGKILL);
  EXPECT_FALSE(host_.signal_child(*pid, SIGKILL));
  EXPECT_FALSE(host_.signal_group(*pid, SIGKILL));
}

TEST_F(ProcessTest, DescendantsAreFoundAndReachedThroughSessionsAndOrphans) {
  ASSERT_TRUE(become_subreaper());
  Pipe pipe = std::move(*make_pipe());
  // A daemon that left its session and whose parent is gone, and a plain grandchild.
  SpawnRequest request =
      shell("setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000 & exec >&-; wait");
  request.stdout_fd = pipe.write_end.get();
  const auto pid = host_.spawn(request);
  ASSERT_TRUE(pid);
  const auto spared_pid = host_.spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(spared_pid);
  pipe.write_end.reset();
  // Strays keep the pipe open until the last one is dead: end of file is the proof.
  while (host_.signal_descendants(SIGKILL, {*spared_pid}) > 0) {
    while (host_.reap()) {
    }
  }
  char byte;
  EXPECT_EQ(read(pipe.read_end.get(), &byte, 1), 0);
  EXPECT_TRUE(host_.signal_child(*spared_pid, SIGKILL));
  while (waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) (void)host_.reap();
}

// How many processes a signal reaches. `script` prints "ready" when they are all there.
class SignalTreeTest : public ProcessTest {
 protected:
  size_t reached_by(int signal, const std::string& script) {
    EXPECT_TRUE(become_subreaper());
    Pipe pipe = std::move(*make_pipe());
    SpawnRequest request = shell(script);
    request.stdout_fd = pipe.write_end.get();
    const pid_t pid = *host_.spawn(request);
    pipe.write_end.reset();
    char ready[6];
    EXPECT_EQ(read(pipe.read_end.get(), ready, sizeof ready), 6);
    const auto reached = host_.signal_tree(pid, signal);
    EXPECT_FALSE(reached.empty());
    shell_is_told_ = std::ranges::count(reached, pid) > 0;
    while (host_.signal_descendants(SIGKILL, {}) > 0) {
      while (host_.reap()) {
      }
    }
    return reached.size();
  }
  bool shell_is_told_ = false;
};

TEST_F(SignalTreeTest, AProgramBelowAShellHearsOfIt) {
  EXPECT_EQ(reached_by(SIGTERM, "sleep 1000 & echo ready; wait; true"), 2U);
}

TEST_F(SignalTreeTest, AShellWithATrapDecidesItself) {
  EXPECT_EQ(reached_by(SIGTERM, "trap 'exit 3' TERM; sleep 1000 & echo ready; wait"), 1U);
}

TEST_F(SignalTreeTest, WhatACatcherHasStartedIsItsOwn) {
  const size_t reached = reached_by(
      SIGTERM, "bash -c 'trap : TERM; sleep 1000 & echo ready; wait; wait' & wait; true");
  EXPECT_EQ(reached, 2U) << "both shells, and not what the one with the trap has started";
}

TEST_F(SignalTreeTest, ASignalThatAsksForNoEndSparesTheShell) {
  const size_t reached = reached_by(
      SIGUSR1, "bash -c 'trap : USR1; sleep 1000 & echo ready; wait; wait' & wait; true");
  EXPECT_EQ(reached, 1U);
  EXPECT_FALSE(shell_is_told_);
}

TEST_F(SignalTreeTest, ASignalThatNobodyCatchesGoesWhereItWasSent) {
  EXPECT_EQ(reached_by(SIGUSR1, "sleep 1000 & echo ready; wait"), 1U);
  EXPECT_TRUE(shell_is_told_);
}

TEST_F(ProcessTest, MarkedProcessesAreKilledWhereverTheyAre) {
  const std::string mark = "TEST_MARK=" + std::to_string(getpid());
  SpawnRequest request = shell("setsid sleep 1000 & echo ready; exec sleep 1000");
  request.environment.push_back(mark);
  Pipe pipe = std::move(*make_pipe());
  request.stdout_fd = pipe.write_end.get();
  ASSERT_TRUE(host_.spawn(request));
  pipe.write_end.reset();
  char ready[6];
  ASSERT_EQ(read(pipe.read_end.get(), ready, sizeof ready), 6);
  EXPECT_GE(kill_marked(mark), 1U);
  EXPECT_EQ(read(pipe.read_end.get(), ready, 1), 0);
  while (waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) (void)host_.reap();
  EXPECT_TRUE(processes_marked_with(mark).empty());
}

TEST_F(ProcessTest, MarkedDescendantsAndWhatIsBelowThemAreReachedAndNobodyElse) {
  ASSERT_TRUE(become_subreaper());
  const std::string mark = "TEST_REQUEST=" + std::to_string(getpid());
  // One that keeps the mark and left its session, and one that dropped it but is still below.
  SpawnRequest request = shell("setsid sleep 1000 & env -i sleep 1000 & echo ready; wait");
  request.environment.push_back(mark);
  Pipe pipe = std::move(*make_pipe());
  request.stdout_fd = pipe.write_end.get();
  ASSERT_TRUE(host_.spawn(request));
  const auto other = host_.spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(other);
  pipe.write_end.reset();
  char ready[6];
  ASSERT_EQ(read(pipe.read_end.get(), ready, sizeof ready), 6);
  EXPECT_GE(host_.signal_marked(0, mark), 1U);
  while (host_.signal_marked(SIGKILL, mark) > 0) {
    while (host_.reap()) {
    }
  }
  EXPECT_EQ(read(pipe.read_end.get(), ready, 1), 0);
  EXPECT_TRUE(host_.signal_child(*other, SIGKILL));
  while (waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) (void)host_.reap();
}

TEST_F(ProcessTest, AChildStartsInTheGivenFolder) {
  SpawnRequest request = shell("pwd");
  request.working_directory = "/proc";
  EXPECT_EQ(output_of(request), "/proc\n");
  request.working_directory = "/nowhere/at/all";
  const auto nowhere = host_.spawn(request);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().text, "chdir '/nowhere/at/all': No such file or directory");
}

TEST_F(ProcessTest, AChildMayHaveEveryDispositionAsAfterALogin) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGHUP, &ignore, &before), 0);
  SpawnRequest request = shell("grep SigIgn /proc/self/status");
  EXPECT_EQ(ignored_signals(output_of(request)), 1U);
  request.default_signals = true;
  EXPECT_EQ(ignored_signals(output_of(request)), 0U);
  ASSERT_EQ(sigaction(SIGHUP, &before, nullptr), 0);
}

}  // namespace
}  // namespace muster
