#include "nccl/machine/container.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(Container, LimitsOfTheUnifiedHierarchyAreTheSmallestOfAllLevels) {
  testing::FakeFiles files;
  files.add_file("/proc/self/cgroup", "0::/pod/main\n");
  files.add_file("/proc/self/mountinfo",
                 "1 0 0:1 / / rw - overlay overlay rw\n"
                 "2 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
                 "3 1 0:3 / /dev/shm rw - tmpfs shm rw,size=65536k\n");
  files.add_file("/sys/fs/cgroup/pod/main/memory.max", "max\n");
  files.add_file("/sys/fs/cgroup/pod/memory.max", "1073741824\n");
  files.add_file("/sys/fs/cgroup/pod/main/memory.events", "oom 9\noom_kill 2\n");
  files.add_file("/sys/fs/cgroup/pod/main/pids.max", "100\n");
  files.add_file("/sys/fs/cgroup/pod/main/hugetlb.2MB.max", "0\n");
  const Container container = read_container(files);
  EXPECT_TRUE(container.is_pod);
  EXPECT_EQ(container.memory_bytes, 1U << 30);
  EXPECT_EQ(container.oom_kills, 2U);
  EXPECT_EQ(container.processes, 100U);
  EXPECT_EQ(container.huge_page_bytes, 0U);
  EXPECT_EQ(container.shared_bytes, 64U << 20);
  EXPECT_FALSE(container.shared_free_bytes);
}

TEST(Container, LimitsOfVersionOneLieInTheirOwnTrees) {
  testing::FakeFiles files;
  files.add_file("/proc/self/cgroup", "4:memory:/docker/abc\n3:pids:/docker/abc\n");
  files.add_file("/proc/self/mountinfo",
                 "2 1 0:2 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                 "3 1 0:3 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
  files.add_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  files.add_file("/sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 1\n");
  files.add_file("/sys/fs/cgroup/pids/pids.max", "77\n");
  Container container = read_container(files);
  EXPECT_FALSE(container.memory_bytes) << "that number means no limit";
  EXPECT_EQ(container.oom_kills, 1U);
  EXPECT_EQ(container.processes, 77U);
  files.add_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(read_container(files).memory_bytes, 4096U);
}

TEST(Container, TheLastMountAtAPointCounts) {
  EXPECT_EQ(parse_mount_size("1 0 0:1 / /dev/shm rw - tmpfs shm rw,size=64k\n"
                             "2 0 0:2 / /dev/shm rw - tmpfs shm rw,size=128k,inode64\n",
                             "/dev/shm"),
            128U * 1024);
  EXPECT_FALSE(parse_mount_size("1 0 0:1 / /dev/shm rw - tmpfs shm rw\n", "/dev/shm"));
  EXPECT_FALSE(parse_mount_size("1 0 / - x y size=k\n\n - \n", "/dev/shm"));
  EXPECT_FALSE(
      parse_mount_size("1 0 0:1 / /dev/shm rw - tmpfs shm size=99999999999999999k\n", "/dev/shm"));
}

TEST(Container, TheLivingMachineTellsItsOwnSpace) {
  testing::FakeFiles files;
  files.set_space("/dev/shm", {.size_bytes = 100, .free_bytes = 7});
  EXPECT_EQ(read_container(files).shared_bytes, 100U);
  EXPECT_EQ(read_container(files).shared_free_bytes, 7U);
}

}  // namespace
}  // namespace muster::nccl
