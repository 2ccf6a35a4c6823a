// With real files in shared memory: what the kernel says of them is the point.
#include "mpi/ranks/rank_segments.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

constexpr size_t kBytes = 4096;

class RankSegmentsTest : public ::testing::Test {
 protected:
  RankSegmentsTest() {
    std::string pattern = "/dev/shm/muster-test-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RankSegmentsTest() override { std::filesystem::remove_all(folder_); }

  UniqueFd make(const std::string& name) {
    UniqueFd fd(open((folder_ + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(ftruncate(fd.get(), kBytes), 0);
    return fd;
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_ + "/" + name);
  }
  size_t sweep() { return sweep(folder_, started_, geteuid()).files; }
  RemovedSegments sweep(const std::string& folder, WallTime since, uid_t owner) {
    SegmentSweeper sweeper(*loop_, folder, owner);
    std::optional<RemovedSegments> removed;
    sweeper.begin(since, [&removed](const RemovedSegments& all) { removed = all; });
    for (int turn = 0; turn < kSweepTries && !removed; ++turn) {
      clock_.advance(kSweepPause);
      EXPECT_TRUE(loop_->run_until_idle());
    }
    EXPECT_TRUE(removed.has_value());
    return removed.value_or(RemovedSegments());
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::string folder_;
  const WallTime started_ = SystemClock().wall_now();
};

TEST_F(RankSegmentsTest, WhatNobodyHasIsRemoved) {
  for (const char* name :
       {"vader_segment.vm.0.1f45.0", "sm_segment.vm.0.6632.1", "mpich_shm_10591ad1_0",
        "mpich_shar_tmps3mS1Q", "ucx_shm_posix_1a2b", "Intel_MPI_x"})
    make(name);
  const RemovedSegments removed = sweep(folder_, started_, geteuid());
  EXPECT_EQ(removed.files, 6U);
  EXPECT_EQ(removed.bytes, 6 * kBytes);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(RankSegmentsTest, WhatAProcessHasOpenOrMappedStays) {
  const UniqueFd writer = make("vader_segment.vm.0.1.0");
  make("vader_segment.vm.0.1.1");
  const UniqueFd reader(open((folder_ + "/vader_segment.vm.0.1.1").c_str(), O_RDONLY | O_CLOEXEC));
  void* mapping = MAP_FAILED;
  {
    const UniqueFd mapped = make("mpich_shm_1_0");
    mapping = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, mapped.get(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
  }
  EXPECT_EQ(sweep(), 0U);
  EXPECT_TRUE(exists("mpich_shm_1_0"));
  ASSERT_EQ(munmap(mapping, kBytes), 0);
  EXPECT_EQ(sweep(), 1U);
  EXPECT_FALSE(exists("mpich_shm_1_0"));
}

TEST_F(RankSegmentsTest, WhatWasThereBeforeStays) {
  make("vader_segment.vm.0.1.0");
  EXPECT_EQ(sweep(folder_, started_ + std::chrono::hours(1), geteuid()).files, 0U);
  EXPECT_TRUE(exists("vader_segment.vm.0.1.0"));
}

TEST_F(RankSegmentsTest, WhatIsNotOfMpiStays) {
  for (const char* name : {"torch_1_2_3", "nccl-abc", "sem.x", "my_vader_segment.0"}) make(name);
  std::filesystem::create_directory(folder_ + "/mpich_shm_folder");
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/mpich_shm_link");
  EXPECT_EQ(sweep(), 0U);
  EXPECT_TRUE(exists("mpich_shm_folder"));
  EXPECT_TRUE(exists("torch_1_2_3"));
}

TEST_F(RankSegmentsTest, WhatIsSomebodyElsesStays) {
  make("mpich_shm_1_0");
  EXPECT_EQ(sweep(folder_, started_, geteuid() + 1).files, 0U);
  EXPECT_TRUE(exists("mpich_shm_1_0"));
}

// Another agent sweeps: it has the lock, and all that it looks at open.
TEST_F(RankSegmentsTest, TwoTakeTurns) {
  UniqueFd looked_at = make("vader_segment.vm.0.1.0");
  UniqueFd other(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  const Timer ends = loop_->after(kSweepPause * 3, [&] {
    looked_at.reset();
    other.reset();
  });
  EXPECT_EQ(sweep(), 1U);
  EXPECT_FALSE(other.is_open());
}

TEST_F(RankSegmentsTest, WhoeverKeepsTheLockDelaysItOnly) {
  make("vader_segment.vm.0.1.0");
  const UniqueFd other(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(sweep(), 1U);
}

TEST_F(RankSegmentsTest, AFolderThatIsNotThereHasNone) {
  EXPECT_EQ(sweep(folder_ + "/none", started_, geteuid()).files, 0U);
}

}  // namespace
}  // namespace muster::mpi
