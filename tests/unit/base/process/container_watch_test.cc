#include "base/process/container_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_files.h"

namespace muster {
namespace {

class ContainerWatchTest : public ::testing::Test {
 protected:
  ContainerWatchTest() { files_.add_file("/proc/self/cgroup", "0::/\n"); }
  void kills(int count) {
    files_.add_file("/sys/fs/cgroup/memory.events", "oom_kill " + std::to_string(count) + "\n");
  }

  muster::testing::FakeFiles files_;
  ContainerWatch watch_{files_, 1024};
};

TEST_F(ContainerWatchTest, CountsTheKillsSinceItBegan) {
  kills(2);
  watch_.begin();
  EXPECT_EQ(watch_.facts({}).oom_kills, 0u);
  kills(5);
  EXPECT_EQ(watch_.facts({}).oom_kills, 3u);
  watch_.begin();
  EXPECT_EQ(watch_.facts({}).oom_kills, 0u);
}

TEST_F(ContainerWatchTest, WithoutACounterThereAreNoKills) {
  EXPECT_EQ(watch_.facts({}).oom_kills, 0u);
  watch_.begin();
  EXPECT_EQ(watch_.facts({}).oom_kills, 0u);
  kills(5);  // came after the group was looked at
  EXPECT_EQ(watch_.facts({}).oom_kills, 0u);
}

TEST_F(ContainerWatchTest, KnowsTheSpaceOfFoldersAndTheLimits) {
  files_.set_space("/dev/shm", {64 << 20, 1 << 20});
  files_.set_space("/full", {100 << 20, 4096});
  files_.set_space("/roomy", {100 << 20, 50 << 20});
  files_.add_file("/sys/fs/cgroup/pids.max", "100\n");
  const ContainerFacts facts = watch_.facts({"/full", "/roomy", "/missing", "/full"});
  ASSERT_TRUE(facts.shared_memory);
  EXPECT_EQ(facts.shared_memory->size_bytes, 64u << 20);
  EXPECT_EQ(facts.full_folders, std::vector<std::string>{"/full"});
  EXPECT_EQ(facts.descriptor_limit, 1024u);
  const auto of_container = std::ranges::find(facts.process_limits, 100u, &ProcessLimit::limit);
  ASSERT_NE(of_container, facts.process_limits.end());
  EXPECT_EQ(of_container->of, "this container (pids.max)");
}

TEST_F(ContainerWatchTest, AnUnlimitedGroupHasNoLimit) {
  files_.add_file("/sys/fs/cgroup/pids.max", "max\n");
  for (const ProcessLimit& limit : watch_.facts({}).process_limits)
    EXPECT_EQ(limit.of, "this user (ulimit -u)");
}

}  // namespace
}  // namespace muster
