#include "nccl/machine/kernel_state.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(KernelState, BothFlavoursOfTheDriver) {
  const auto closed = parse_nvidia_version(
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
      "GCC version:  gcc version 11.4.0\n");
  EXPECT_EQ(closed.version, "535.129.03");
  EXPECT_FALSE(closed.is_open);
  const auto open = parse_nvidia_version(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n");
  EXPECT_EQ(open.version, "570.86.15");
  EXPECT_TRUE(open.is_open);
  EXPECT_EQ(parse_nvidia_version("something 1.2.3").version, "");
}

TEST(KernelState, VersionsAreComparedByNumber) {
  EXPECT_TRUE(is_at_least("6.8.0-1015-generic", 5, 12));
  EXPECT_TRUE(is_at_least("5.12-rc1", 5, 12));
  EXPECT_FALSE(is_at_least("5.4.0", 5, 12));
  EXPECT_FALSE(is_at_least("", 5, 12));
  EXPECT_FALSE(is_at_least("linux", 5, 12));
}

TEST(KernelState, ListenersAreFoundByPort) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue\n"
      "   0: 00000000:3A99 00000000:0000 0A 0\n"
      "   1: 0100007F:3A9E 0100007F:1234 01 0\n"
      "   2: 00000000000000000000000000000000:3A9E 00000000000000000000000000000000:0000 0A 0\n"
      "   3: nonsense 0 0A\n   4: 0:zz 0 0A\n";
  EXPECT_EQ(listening_ports(table, {15001, 15006, 4143}), (std::vector<int>{15001, 15006}));
  EXPECT_TRUE(listening_ports(table, {80}).empty());
}

TEST(KernelState, OfTheBootOnlyTheIommu) {
  testing::FakeFiles files;
  files.add_file("/proc/cmdline", "root=/dev/sda1 intel_iommu=on quiet iommu=pt\n");
  files.add_file("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  files.add_file("/proc/sys/kernel/numa_balancing", "1\n");
  files.add_directory("/sys/module/nv_peer_mem");
  const KernelState state = read_kernel_state(files);
  EXPECT_EQ(state.command_line_words, "intel_iommu=on iommu=pt");
  ASSERT_TRUE(state.ephemeral_ports);
  EXPECT_EQ(state.ephemeral_ports->count(), 28232);
  EXPECT_EQ(state.numa_balancing, true);
  EXPECT_TRUE(state.knows_modules && state.has_peer_memory);
  EXPECT_FALSE(state.huge_pages);
}

TEST(KernelState, ARangeOfPortsThatIsNone) {
  testing::FakeFiles files;
  for (const char* text : {"9 8\n", "1 70000\n", "x y\n", "1\n", ""}) {
    files.add_file("/proc/sys/net/ipv4/ip_local_port_range", text);
    EXPECT_FALSE(read_kernel_state(files).ephemeral_ports) << text;
  }
}

}  // namespace
}  // namespace muster::nccl
