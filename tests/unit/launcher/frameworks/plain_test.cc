#include "launcher/frameworks/plain.h"

#include <gtest/gtest.h>

#include "tests/support/driver_rig.h"

namespace muster::launcher {
namespace {

using Resolved = std::vector<std::pair<int, bool>>;

class PlainTest : public DriverRig {
 protected:
  PlainDriver& make(Words words) {
    words.insert(words.end(), {"--framework", "plain"});
    give(std::move(words));
    driver_.emplace(options_);
    EXPECT_TRUE(driver_->start(host()));
    return *driver_;
  }
  std::string index(const rendezvous::Assign& round, int local_rank) {
    return variable_of(*driver_, round, local_rank, "MUSTER_RUN_INDEX");
  }
  WorkerEnd end(int local_rank, elastic::FailureClass how = elastic::FailureClass::kSuccess) {
    const WorkerEnd end = driver_->apart()->after(local_rank, {how, "as the test says"});
    idle();
    return end;
  }
  std::optional<PlainDriver> driver_;
};

TEST_F(PlainTest, WorkersTakeRunsUntilThereAreNone) {
  PlainDriver& driver = make({"--runs", "3"});
  const auto round = this->round({2});
  ASSERT_TRUE(driver.begin_attempt(round, 2));
  EXPECT_EQ(index(round, 0), "0");
  EXPECT_EQ(index(round, 1), "1");
  EXPECT_EQ(end(1), WorkerEnd::kWaits);
  EXPECT_EQ(index(round, 1), "2");
  EXPECT_EQ(resolved_, (Resolved{{1, true}}));
  EXPECT_EQ(end(0), WorkerEnd::kCounts) << "no run is left";
  EXPECT_EQ(end(1), WorkerEnd::kCounts);
}

TEST_F(PlainTest, ParallelismLeavesWorkersIdle) {
  PlainDriver& driver = make({"--runs", "4", "--parallelism", "1"});
  ASSERT_TRUE(driver.begin_attempt(round({2}), 2));
  EXPECT_TRUE(driver.apart()->starts(0));
  EXPECT_FALSE(driver.apart()->starts(1));
  idle();
  EXPECT_EQ(resolved_, (Resolved{{1, false}})) << "it has succeeded";
}

TEST_F(PlainTest, AnotherRoundDoesWhatNoNodeKnowsToBeDone) {
  PlainDriver& driver = make({"--runs", "6"});
  const auto two = this->round({1, 1});
  driver.prepare_round(two, [] {});
  driver.exchanged(0, std::vector<std::string>{"", ""});
  ASSERT_TRUE(driver.begin_attempt(two, 1));
  EXPECT_EQ(end(0), WorkerEnd::kWaits);  // run 0
  driver.prepare_round(two, [] {});
  EXPECT_EQ(given_.back(), "0");
  driver.exchanged(0, std::vector<std::string>{"0", "1,3-4"});
  ASSERT_TRUE(driver.begin_attempt(two, 1));
  EXPECT_EQ(index(two, 0), "2");
  EXPECT_EQ(end(0), WorkerEnd::kCounts) << "run 5 is the other node's";
}

TEST_F(PlainTest, AFailedRunStartsAgainAloneOrEndsAll) {
  PlainDriver& driver = make({"--runs", "2", "--restart-scope", "worker", "--max-restarts", "1"});
  const auto round = this->round({2});
  ASSERT_TRUE(driver.begin_attempt(round, 2));
  EXPECT_EQ(end(1, elastic::FailureClass::kUserError), WorkerEnd::kAsks);
  EXPECT_EQ(index(round, 1), "1") << "the same run";
  PlainDriver& together = make({"--runs", "2", "--max-restarts", "1"});
  ASSERT_TRUE(together.begin_attempt(round, 2));
  EXPECT_EQ(end(1, elastic::FailureClass::kUserError), WorkerEnd::kCounts);
}

TEST_F(PlainTest, ThePodsOwnIndexCountsForAProgramAlone) {
  PlainDriver& driver = make({});
  Environment user;
  user.set("JOB_COMPLETION_INDEX", "5");
  const auto alone = round({1});
  ASSERT_TRUE(driver.begin_attempt(alone, 1));
  EXPECT_EQ(variable_of(driver, alone, 0, "JOB_COMPLETION_INDEX", user), "5");
  const auto two = round({2});
  ASSERT_TRUE(driver.begin_attempt(two, 2));
  EXPECT_EQ(variable_of(driver, two, 1, "JOB_COMPLETION_INDEX", user), "1");
}

TEST(RunList, ToldListsAreReadAgain) {
  RunList list(10);
  ASSERT_TRUE(list.learn("0-2,5,7-9"));
  EXPECT_EQ(list.told(), "0-2,5,7-9");
  EXPECT_EQ(list.done_count(), 7U);
  for (const char* wrong : {"10", "3-1", "x", "1-", "-1", "0-99", ","})
    EXPECT_FALSE(list.learn(wrong)) << wrong;
}

}  // namespace
}  // namespace muster::launcher
