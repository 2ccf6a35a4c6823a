// Finding the OOM counter of a container's memory cgroup.
#include "base/process/memory_events.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/fake_files.h"

namespace muster {
namespace {

constexpr std::string_view kEvents =
    "low 0\nhigh 12\nmax 40\noom 3\noom_kill 2\noom_group_kill 7\n";
constexpr std::string_view kOomControl = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";

class MemoryEventsTest : public ::testing::Test {
 protected:
  void cgroup(std::string_view text) { files_.add_file("/proc/self/cgroup", text); }
  std::optional<uint64_t> oom_kills() { return MemoryEvents(files_).oom_kills(); }

  muster::testing::FakeFiles files_;
};

TEST_F(MemoryEventsTest, ReadsTheGroupOfAContainerWithItsOwnNamespace) {
  cgroup("0::/\n");
  files_.add_file("/sys/fs/cgroup/memory.events", kEvents);
  EXPECT_EQ(oom_kills(), 2u);
}

TEST_F(MemoryEventsTest, ReadsTheGroupBelowTheMount) {
  cgroup("0::/kubepods.slice/pod1/c1\n");
  files_.add_file("/sys/fs/cgroup/memory.events", "oom_kill 99\n");
  files_.add_file("/sys/fs/cgroup/kubepods.slice/pod1/c1/memory.events", kEvents);
  EXPECT_EQ(oom_kills(), 2u);
}

TEST_F(MemoryEventsTest, ReadsTheMountWhereOnlyOurGroupIsMountedUnderTheHostsName) {
  cgroup("0::/kubepods.slice/pod1/c1\n");
  files_.add_file("/sys/fs/cgroup/memory.events", kEvents);
  EXPECT_EQ(oom_kills(), 2u);
}

TEST_F(MemoryEventsTest, TakesTheLocalFileWhereTheOtherIsMissing) {
  cgroup("0::/a\n");
  files_.add_file("/sys/fs/cgroup/a/memory.events.local", kEvents);
  EXPECT_EQ(oom_kills(), 2u);
}

TEST_F(MemoryEventsTest, ReadsVersionOneAlsoBesideAnEmptyUnifiedHierarchy) {
  cgroup("9:name=systemd:/\n4:memory:/docker/c1\n3:cpuset:/\n2:cpu,cpuacct:/\n0::/\n");
  files_.add_file("/sys/fs/cgroup/memory/docker/c1/memory.oom_control", kOomControl);
  EXPECT_EQ(oom_kills(), 5u);
}

TEST_F(MemoryEventsTest, FindsVersionOneMemoryAmongJoinedControllers) {
  cgroup("4:cpuset,memory:/docker/c1\n");
  files_.add_file("/sys/fs/cgroup/memory/memory.oom_control", kOomControl);
  EXPECT_EQ(oom_kills(), 5u);
}

TEST_F(MemoryEventsTest, DoesNotFollowAPathOutOfTheMount) {
  cgroup("0::/../../etc\n");
  files_.add_file("/sys/fs/cgroup/memory.events", kEvents);
  files_.add_file("/sys/etc/memory.events", "oom_kill 77\n");
  EXPECT_EQ(oom_kills(), 2u);
}

TEST_F(MemoryEventsTest, SeesTheCounterRise) {
  cgroup("0::/\n");
  files_.add_file("/sys/fs/cgroup/memory.events", "oom_kill 2\n");
  const MemoryEvents events(files_);
  const auto before = events.oom_kills();
  EXPECT_EQ(before, 2u);
  files_.add_file("/sys/fs/cgroup/memory.events", "oom_kill 3\n");
  EXPECT_EQ(events.oom_kills(), 3u);
}

TEST_F(MemoryEventsTest, IsUnknownWhenNothingIsThereAndSaysSoOnceAtDebugLevel) {
  std::string lines;
  log::set_sink([&lines](std::string_view line) { lines += line; });
  log::set_level(log::Level::kDebug);
  const MemoryEvents events(files_);
  EXPECT_EQ(events.oom_kills(), std::nullopt);
  EXPECT_EQ(events.oom_kills(), std::nullopt);
  log::set_level(log::Level::kInfo);
  log::set_sink({});
  EXPECT_NE(lines.find(" D memory_events.unknown "), std::string::npos) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

TEST_F(MemoryEventsTest, IsUnknownOnAKernelWithoutTheCounter) {
  cgroup("4:memory:/\n");
  files_.add_file("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
  EXPECT_EQ(oom_kills(), std::nullopt);
}

TEST_F(MemoryEventsTest, SurvivesAnOddMembershipFile) {
  for (const char* text : {"", "\n\n", "garbage", "1:", "::", "0::", "memory"}) {
    cgroup(text);
    EXPECT_EQ(oom_kills(), std::nullopt) << text;
  }
}

TEST(ParseOomKills, TakesTheWholeKeyAndAWholeNumber) {
  EXPECT_EQ(parse_oom_kills("oom_kill 18446744073\n"), 18446744073u);
  for (const char* text : {"", "oom_kill", "oom_kill \n", "oom_kill x\n", "oom_kill -1\n",
                           "oom_kill_disable 1\n", "oom_group_kill 1\n", " oom_kill 1\n"}) {
    EXPECT_EQ(parse_oom_kills(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace muster
