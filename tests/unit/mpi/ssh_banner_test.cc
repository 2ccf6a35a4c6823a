#include "mpi/ssh_banner.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::mpi {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SshBanner, WhatServersSayFirst) {
  EXPECT_EQ(classify_ssh_banner("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10\r\n"), SshBanner::kSsh);
  EXPECT_EQ(classify_ssh_banner("SSH-2.0-dropbear_2022.83\r\n"), SshBanner::kSsh);
  EXPECT_EQ(classify_ssh_banner("a line of its own\r\nand another\nSSH-2.0-x\r\n"),
            SshBanner::kSsh);
  EXPECT_EQ(classify_ssh_banner("Not allowed at this time\r\n"), SshBanner::kLockedOut);
  EXPECT_EQ(classify_ssh_banner("Exceeded MaxStartups\r\n"), SshBanner::kLockedOut);
}

TEST(SshBanner, MoreIsWaitedForWithinBounds) {
  for (const char* part : {"", "S", "SSH", "HTTP/1.1 400", "Not allowed", "one line\n"})
    EXPECT_EQ(classify_ssh_banner(part), SshBanner::kUndecided) << part;
  EXPECT_EQ(classify_ssh_banner(std::string(kMaxSshBannerBytes, 'x')), SshBanner::kUndecided);
  EXPECT_EQ(classify_ssh_banner(std::string(kMaxSshBannerBytes + 1, 'x')), SshBanner::kOther);
  std::string lines;
  while (lines.size() <= kMaxSshBannerBytes) lines += "a line of its own\n";
  EXPECT_EQ(classify_ssh_banner(lines), SshBanner::kOther);
}

TEST(SshBanner, LooksAreNeverMoreThanOneASecond) {
  EXPECT_EQ(ssh_retry_pause(SshBanner::kUndecided, 1, 0), Duration(seconds(1)));
  EXPECT_EQ(ssh_retry_pause(SshBanner::kUndecided, 1, 1), Duration(milliseconds(1500)));
  EXPECT_EQ(ssh_retry_pause(SshBanner::kUndecided, 2, 0), Duration(seconds(2)));
  EXPECT_EQ(ssh_retry_pause(SshBanner::kOther, 1000000, 0), Duration(seconds(5)));
  EXPECT_EQ(ssh_retry_pause(SshBanner::kLockedOut, 1, 0), Duration(seconds(20)));
}

}  // namespace
}  // namespace muster::mpi
