#include "launcher/frameworks/ssh_connections.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

class SshConnectionsTest : public ::testing::Test {
 protected:
  SshConnectionsTest() {
    std::string pattern = ::testing::TempDir() + "muster-connections-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    auto made = SshConnections::create(
        *loop_, folder_, [this](const SshConnection& connection, const ExitStatus& status) {
          failed_.emplace_back(connection.host, status.describe());
        });
    EXPECT_TRUE(made);
    connections_ = std::move(*made);
  }
  ~SshConnectionsTest() override { std::filesystem::remove_all(folder_); }

  using Failures = std::vector<std::pair<std::string, std::string>>;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::string folder_;
  std::unique_ptr<SshConnections> connections_;
  Failures failed_;
};

TEST_F(SshConnectionsTest, EndsWithoutSuccessAreToldOnce) {
  for (const char* host : {"worker-1", "10.0.0.1", "worker-2"}) {
    const UniqueFd pipe = open_ssh_reports(folder_);
    ASSERT_TRUE(pipe.is_open());
    const SshConnection connection{host, static_cast<pid_t>(std::string(host).size())};
    report_ssh_begin(pipe, connection);
    if (std::string(host) == "worker-1") report_ssh_end(pipe, connection, {.code = kSshLost});
    if (std::string(host) == "10.0.0.1") report_ssh_end(pipe, connection, {.signal = SIGKILL});
    if (std::string(host) == "worker-2") report_ssh_end(pipe, connection, {});
  }
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(failed_, (Failures{{"worker-1", "exit code 255"}, {"10.0.0.1", "SIGKILL"}}));
  connections_->read();
  EXPECT_EQ(failed_.size(), 2U);
  EXPECT_TRUE(connections_->open().empty());
}

TEST_F(SshConnectionsTest, WithoutAnEndItIsOpenUntilItIsForgotten) {
  report_ssh_begin(open_ssh_reports(folder_), {"worker-1", 7});
  connections_->read();
  ASSERT_EQ(connections_->open().size(), 1U);
  EXPECT_EQ(connections_->open()[0].host, "worker-1");
  EXPECT_EQ(connections_->open()[0].pid, 7);
  report_ssh_end(open_ssh_reports(folder_), {"worker-2", 8}, {.code = 1});
  connections_->drop();
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_TRUE(connections_->open().empty());
  EXPECT_TRUE(failed_.empty());
}

TEST_F(SshConnectionsTest, OneThatEndsWellLongBeforeTheOthersIsWorthALine) {
  testing::CapturedLog log;
  const auto end_first = [this] {
    connections_->drop();
    const UniqueFd pipe = open_ssh_reports(folder_);
    report_ssh_begin(pipe, {"worker-1", 7});
    report_ssh_begin(pipe, {"worker-2", 8});
    report_ssh_end(pipe, {"worker-1", 7}, {});
    ASSERT_TRUE(loop_->run_until_idle());
  };
  end_first();
  report_ssh_end(open_ssh_reports(folder_), {"worker-2", 8}, {});
  clock_.advance(kSshEarlyEnd);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(log.text(), "");
  end_first();
  clock_.advance(kSshEarlyEnd);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(log.count("mpi.daemon_ended host=worker-1 others=1"), 1U);
  EXPECT_TRUE(failed_.empty());
}

TEST_F(SshConnectionsTest, WhatIsNoReportIsIgnored) {
  const UniqueFd pipe = open_ssh_reports(folder_);
  const std::string text = "\nworker-1\nworker-1 x\nworker-1 1 255 x\n 1 255 0\n1 2 3 4 5\n";
  ASSERT_EQ(write(pipe.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_TRUE(failed_.empty());
  EXPECT_TRUE(connections_->open().empty());
}

TEST_F(SshConnectionsTest, NobodyReportsWhereNobodyListens) {
  connections_.reset();
  EXPECT_FALSE(open_ssh_reports(folder_).is_open());
  EXPECT_FALSE(open_ssh_reports(folder_ + "/none").is_open());
}

TEST(SshLoss, IsNoExitCodeOfTheCommand) {
  EXPECT_TRUE(is_ssh_loss({.code = 255}));
  EXPECT_TRUE(is_ssh_loss({.signal = SIGTERM}));
  EXPECT_FALSE(is_ssh_loss({.code = 0}));
  EXPECT_FALSE(is_ssh_loss({.code = 137}));
}

}  // namespace
}  // namespace muster::launcher
