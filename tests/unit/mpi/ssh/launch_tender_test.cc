// What a launcher's end is taken for if its connections say something else. A fake clock and fake
// processes, a real pipe.
#include "mpi/ssh/launch_tender.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "mpi/ranks/mpi_ranks.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"

namespace muster::mpi {
namespace {

using std::chrono::milliseconds;

class LaunchTenderTest : public ::testing::Test {
 protected:
  LaunchTenderTest() {
    std::string pattern = ::testing::TempDir() + "muster-tender-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    auto reports = listen_for_ssh_reports(folder_);
    EXPECT_TRUE(reports);
    tender_ = std::make_unique<LaunchTender>(*loop_, processes_, std::move(*reports),
                                             [this](int exit_code, const std::string& why) {
                                               ends_.push_back(std::to_string(exit_code) + why);
                                             });
    SpawnRequest launcher;
    launcher.program = "/usr/bin/mpirun";
    EXPECT_TRUE(tender_->start(launcher));
    for (const pid_t pid : {7, 8}) report(pid, std::nullopt);
  }
  ~LaunchTenderTest() override { std::filesystem::remove_all(folder_); }

  void write(pid_t pid, const std::optional<ExitStatus>& end) {
    send_ssh_report(open_ssh_reports(folder_), {"worker-" + std::to_string(pid), pid, end});
  }
  void report(pid_t pid, const std::optional<ExitStatus>& end) {
    write(pid, end);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  void launcher_ends(const ExitStatus& status) {
    processes_.end(kLauncher, status);
    tender_->handle_signal({.number = SIGCHLD});
    ASSERT_TRUE(loop_->run_until_idle());
  }
  void advance(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  // "" = it has not ended.
  [[nodiscard]] std::string end() const {
    if (ends_.size() > 1) return "more than once";
    return ends_.empty() ? "" : ends_[0];
  }

  static constexpr pid_t kLauncher = 100;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeProcessHost processes_;
  std::string folder_;
  std::unique_ptr<LaunchTender> tender_;
  std::vector<std::string> ends_;
};

TEST_F(LaunchTenderTest, AZeroCountsWhenAllConnectionsHaveEndedWell) {
  report(7, ExitStatus{});
  launcher_ends({});
  EXPECT_EQ(end(), "");
  report(8, ExitStatus{});
  EXPECT_EQ(end(), "0");
}

TEST_F(LaunchTenderTest, AZeroDoesNotCountAgainstAConnectionThatHasNotEnded) {
  report(7, ExitStatus{});
  launcher_ends({});
  advance(kConnectionEnd);
  EXPECT_EQ(end(), "205the launcher ended with 0, but its connection to worker-8 had not ended");
}

TEST_F(LaunchTenderTest, AZeroDoesNotCountAgainstAConnectionThatFails) {
  launcher_ends({});
  report(7, ExitStatus{.code = 3});
  EXPECT_EQ(end(), "3the daemon on worker-7 failed: ssh: exit code 3");
}

TEST_F(LaunchTenderTest, ALostConnectionExplainsWhateverTheLauncherSays) {
  write(7, ExitStatus{.code = kSshLost});  // not read yet
  launcher_ends({.code = 1});
  EXPECT_EQ(end(),
            "255the connection to worker-7 was lost, or its daemon killed: ssh: exit code 255");
}

TEST_F(LaunchTenderTest, ALauncherThatDoesNotMissALostConnectionIsToldToEnd) {
  report(7, ExitStatus{.signal = SIGKILL});
  report(8, ExitStatus{.code = 3});
  advance(kAfterLostConnection - milliseconds(1));
  EXPECT_TRUE(processes_.sent.empty());
  advance(milliseconds(1));
  EXPECT_EQ(processes_.sent,
            (std::vector<testing::FakeProcessHost::Sent>{{kLauncher, SIGTERM, false}}));
  EXPECT_EQ(end(), "");
  launcher_ends({});
  EXPECT_EQ(end(), "137the connection to worker-7 was lost, or its daemon killed: ssh: SIGKILL");
}

TEST_F(LaunchTenderTest, AndIsGivenUpIfItDoesNot) {
  report(7, ExitStatus{.code = kSshLost});
  advance(kAfterLostConnection);
  advance(kTendedGrace);
  EXPECT_EQ(end(),
            "255the connection to worker-7 was lost, or its daemon killed: ssh: exit code 255");
}

TEST_F(LaunchTenderTest, ADaemonsExitIsForTheLauncherToExplain) {
  report(7, ExitStatus{.code = 3});
  advance(kUnexplained - milliseconds(1));
  launcher_ends({.code = 9});
  EXPECT_EQ(end(), "9");
}

TEST_F(LaunchTenderTest, ButOneThatDoesNotIsToldToEnd) {
  report(7, ExitStatus{.code = 3});
  advance(kUnexplained);
  EXPECT_EQ(processes_.sent.size(), 1U);
  launcher_ends({.signal = SIGTERM});
  EXPECT_EQ(end(), "3the daemon on worker-7 failed: ssh: exit code 3");
}

TEST_F(LaunchTenderTest, AKilledLauncherBreaksItsConnectionsItself) {
  write(7, ExitStatus{.code = kSshLost});
  launcher_ends({.signal = SIGKILL});
  EXPECT_EQ(end(), "137");
}

TEST_F(LaunchTenderTest, SoDoesOneThatIsToldToEnd) {
  tender_->handle_signal({.number = SIGUSR1});
  tender_->handle_signal({.number = SIGTERM});
  EXPECT_EQ(processes_.sent, (std::vector<testing::FakeProcessHost::Sent>{
                                 {kLauncher, SIGUSR1, false}, {kLauncher, SIGTERM, false}}));
  report(7, ExitStatus{.code = kSshLost});
  advance(kAfterLostConnection);
  EXPECT_EQ(processes_.sent.size(), 2U);
  launcher_ends({.code = 1});
  EXPECT_EQ(end(), "1");
}

TEST_F(LaunchTenderTest, OrphansThatEndMeanNothing) {
  processes_.end(300, {.code = 1});
  tender_->handle_signal({.number = SIGCHLD});
  EXPECT_EQ(end(), "");
}

}  // namespace
}  // namespace muster::mpi
