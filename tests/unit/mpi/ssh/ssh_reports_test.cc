#include "mpi/ssh/ssh_reports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace muster::mpi {
namespace {

class SshReportsTest : public ::testing::Test {
 protected:
  SshReportsTest() {
    std::string pattern = ::testing::TempDir() + "muster-reports-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SshReportsTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(SshReportsTest, AllThatWereSentAreReadOnceAndInOrder) {
  const auto pipe = listen_for_ssh_reports(folder_);
  ASSERT_TRUE(pipe);
  send_ssh_report(open_ssh_reports(folder_), {"worker-1", 7});
  send_ssh_report(open_ssh_reports(folder_), {"10.0.0.1", 8, ExitStatus{.signal = SIGKILL}});
  send_ssh_report(open_ssh_reports(folder_), {"worker-1", 7, ExitStatus{.code = 255}});
  const auto reports = read_ssh_reports(*pipe);
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].host, "worker-1");
  EXPECT_EQ(reports[0].pid, 7);
  EXPECT_FALSE(reports[0].end);
  EXPECT_EQ(reports[1].host, "10.0.0.1");
  EXPECT_EQ(reports[1].end.value().signal, SIGKILL);
  EXPECT_EQ(reports[2].end.value().code, 255);
  EXPECT_TRUE(read_ssh_reports(*pipe).empty());
}

TEST_F(SshReportsTest, AnotherListenerTakesThePipeThatIsThere) {
  { ASSERT_TRUE(listen_for_ssh_reports(folder_)); }
  const auto pipe = listen_for_ssh_reports(folder_);
  ASSERT_TRUE(pipe);
  send_ssh_report(open_ssh_reports(folder_), {"worker-1", 7});
  EXPECT_EQ(read_ssh_reports(*pipe).size(), 1U);
}

TEST_F(SshReportsTest, NobodyReportsWhereNobodyListens) {
  { ASSERT_TRUE(listen_for_ssh_reports(folder_)); }
  EXPECT_FALSE(open_ssh_reports(folder_).is_open());
  EXPECT_FALSE(open_ssh_reports(folder_ + "/none").is_open());
}

TEST(SshReport, WhatIsNoneIsIgnored) {
  for (const char* line : {"", "worker-1", "worker-1 x", "worker-1 1 255", "worker-1 1 255 x",
                           " 1 255 0", "1 2 3 4 5"})
    EXPECT_FALSE(parse_ssh_report(line)) << line;
}

}  // namespace
}  // namespace muster::mpi
