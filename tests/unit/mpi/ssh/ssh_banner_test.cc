#include "mpi/ssh/ssh_banner.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::mpi {
namespace {

TEST(SshBanner, WhatServersSayFirst) {
  for (const char* words :
       {"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10\r\n", "SSH-2.0-dropbear_2022.83\r\n",
        "a line of its own\r\nand another\nSSH-2.0-x\r\n"})
    EXPECT_EQ(is_ssh_banner(words), true) << words;
}

TEST(SshBanner, MoreIsWaitedForWithinBounds) {
  for (const char* part :
       {"", "S", "SSH", "HTTP/1.1 400", "Not allowed at this time\r\n", "one line\n"})
    EXPECT_EQ(is_ssh_banner(part), std::nullopt) << part;
  EXPECT_EQ(is_ssh_banner(std::string(kMaxSshBannerBytes, 'x')), std::nullopt);
  EXPECT_EQ(is_ssh_banner(std::string(kMaxSshBannerBytes + 1, 'x')), false);
  std::string lines;
  while (lines.size() <= kMaxSshBannerBytes) lines += "a line of its own\n";
  EXPECT_EQ(is_ssh_banner(lines), false);
}

}  // namespace
}  // namespace muster::mpi
