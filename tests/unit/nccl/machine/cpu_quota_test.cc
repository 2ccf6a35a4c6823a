#include "nccl/machine/cpu_quota.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"
#include "tests/support/test_data.h"

namespace muster::nccl {
namespace {

using muster::testing::kMachines;

TEST(CpuQuota, Cgroup2ContainerWithTwoAndAHalfCpus) {
  const auto quota = read_cpu_quota(RealFiles(kMachines + "container-cgroup2-quota"));
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 2.5);
  EXPECT_EQ(quota->source, "/sys/fs/cgroup/cpu.max");
}

TEST(CpuQuota, Cgroup1ContainerSeesTheHostsPathAndItsOwnSubtree) {
  const auto quota = read_cpu_quota(RealFiles(kMachines + "container-cgroup1-quota"));
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 4);
  EXPECT_EQ(quota->source, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us");
}

TEST(CpuQuota, NoLimitOnLaptopAndRecordedGuest) {
  EXPECT_FALSE(read_cpu_quota(RealFiles(kMachines + "laptop")));
  EXPECT_FALSE(read_cpu_quota(RealFiles(kMachines + "vm-hybrid-cgroup")));
  EXPECT_FALSE(read_cpu_quota(testing::FakeFiles()));
}

TEST(CpuQuota, TheTightestOfAllLevelsCounts) {
  testing::FakeFiles files;
  files.add_file("/proc/self/cgroup", "0::/a/b/c\n");
  files.add_file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  files.add_file("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  files.add_file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  files.add_file("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  auto quota = read_cpu_quota(files);
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 3);
  EXPECT_EQ(quota->source, "/sys/fs/cgroup/a/cpu.max");
  files.add_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");  // the container's own root
  quota = read_cpu_quota(files);
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 0.5);
}

TEST(CpuQuota, HybridHostsAreReadInBothTrees) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "vm-hybrid-cgroup"));
  files.add_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  files.add_file("/sys/fs/cgroup/unified/cpu.max", "120000 100000\n");
  const auto quota = read_cpu_quota(files);
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 1.2);
}

TEST(CpuQuota, WithoutMountinfoTheUsualPlacesAreRead) {
  testing::FakeFiles files;
  files.add_file("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(read_cpu_quota(files).value().cpus, 2);
  files.remove("/sys/fs/cgroup/cpu.max");
  files.add_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  files.add_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(read_cpu_quota(files).value().cpus, 1);
}

TEST(CpuQuota, CpuMaxTakesOnlyTwoPositiveNumbers) {
  EXPECT_EQ(parse_cpu_max("250000 100000\n"), 2.5);
  for (const char* text :
       {"", "max 100000", "100000", "0 100000", "-1 100000", "1 0", "1 2 3", "x y", "1  2"}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

Cgroup only_cgroup(std::string_view own, std::string_view mountinfo) {
  const std::vector<Cgroup> found = find_cpu_cgroups(own, mountinfo);
  return found.size() == 1 ? found.front() : Cgroup{"not one", "", false};
}

TEST(CpuQuota, PathsAreSeenFromTheMount) {
  const std::string point = "/sys/fs/cgroup";
  const auto mount = [](const std::string& root) {
    return "31 1 0:26 " + root + " /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
  };
  EXPECT_EQ(only_cgroup("0::/pods/x\n", mount("/")), (Cgroup{point, point + "/pods/x", true}));
  EXPECT_EQ(only_cgroup("0::/pods/x/y\n", mount("/pods/x")), (Cgroup{point, point + "/y", true}));
  EXPECT_EQ(only_cgroup("0::/pods/x\n", mount("/pods/x")), (Cgroup{point, point, true}));
  EXPECT_EQ(only_cgroup("0::/\n", mount("/")), (Cgroup{point, point, true}));
  // Outside the mount: another namespace's path, or a sibling with the same beginning.
  EXPECT_EQ(only_cgroup("0::/../other\n", mount("/")), (Cgroup{point, point, true}));
  EXPECT_EQ(only_cgroup("0::/pods/xy\n", mount("/pods/x")), (Cgroup{point, point, true}));
  EXPECT_EQ(only_cgroup("", mount("/")), (Cgroup{point, point, true}));
}

TEST(CpuQuota, OnlyTreesThatHoldTheCpuControllerAreFound) {
  const std::string mounts =
      "1 1 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "2 1 0:2 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "3 1 0:3 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
      "4 1 0:4 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "5 1 0:5 / cut off\n"
      "6 1 0:6 / /x rw - cgroup\n";
  EXPECT_EQ(only_cgroup("3:cpuset:/a\n2:cpu:/b\n1:cpuacct:/c\n", mounts),
            (Cgroup{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/b", false}));
}

}  // namespace
}  // namespace muster::nccl
