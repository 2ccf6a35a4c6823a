#include "rendezvous/xgboost/tracker_group.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

class TrackerGroupTest : public ::testing::Test {
 protected:
  TrackerGroup::Answer start(TrackerClient client, const std::string& task,
                             const std::string& host = "h", TrackerWire wire = TrackerWire::kJson) {
    TrackerWorker worker;
    worker.client = client;
    worker.host = host;
    return group_.start({wire, 0, -1, task}, std::move(worker));
  }
  TrackerJoin join(TrackerClient client, const std::string& task, const std::string& host = "h") {
    return start(client, task, host).join;
  }
  [[nodiscard]] std::vector<TrackerClient> ranks() const {
    std::vector<TrackerClient> clients;
    for (const TrackerWorker& worker : group_.workers()) clients.push_back(worker.client);
    return clients;
  }
  void leave(int rank) {
    TrackerWorker* worker = group_.find(header(rank));
    ASSERT_NE(worker, nullptr);
    group_.shut_down(*worker);
  }
  [[nodiscard]] tracker::Header header(int rank) {
    return {TrackerWire::kJson, rank, group_.world_size(), group_.worker(rank).task_id};
  }
  void form(int size) {
    group_.begin(size);
    for (int rank = 0; rank < size; ++rank)
      join(static_cast<TrackerClient>(100 + rank), std::to_string(rank));
    ASSERT_EQ(group_.workers().size(), static_cast<size_t>(size));
  }

  TrackerGroup group_;
};

TEST_F(TrackerGroupTest, RanksAreTheTaskIds) {
  group_.begin(11);
  for (int task = 10; task > 0; --task)
    EXPECT_EQ(join(static_cast<TrackerClient>(task), std::to_string(task)), TrackerJoin::kWaits);
  EXPECT_EQ(join(20, "0"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST_F(TrackerGroupTest, OtherIdsFollowHostsThenNumbers) {
  group_.begin(4);
  join(1, "t10", "b");
  join(2, "10", "a");
  join(3, "9", "a");
  EXPECT_EQ(join(4, "t9", "b"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{3, 2, 1, 4}));
}

TEST_F(TrackerGroupTest, WithoutIdsTheOrderOfConnectionsCounts) {
  group_.begin(3);
  join(5, "");
  join(7, "");
  EXPECT_EQ(join(6, ""), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{5, 6, 7}));
}

TEST_F(TrackerGroupTest, AStrangersIdGivesWayToAWorkers) {
  group_.begin(2);
  join(1, "stray");
  const auto answer = start(2, "0");
  EXPECT_EQ(answer.join, TrackerJoin::kWaits);
  EXPECT_EQ(answer.displaced, std::vector<TrackerClient>{1});
  const auto refused = start(3, "stray");
  EXPECT_EQ(refused.join, TrackerJoin::kRefused);
  EXPECT_EQ(refused.failure.reason,
            "task stray joins no workers whose task ids are their ranks, 0 to 1");
  EXPECT_EQ(join(4, "2"), TrackerJoin::kRefused);
  EXPECT_EQ(join(5, "01"), TrackerJoin::kRefused);
  EXPECT_EQ(join(6, "1"), TrackerJoin::kComplete);
}

TEST_F(TrackerGroupTest, TheSameTaskWaitsOnce) {
  group_.begin(2);
  join(1, "0");
  const auto answer = start(2, "0");
  EXPECT_EQ(answer.join, TrackerJoin::kRefused);
  EXPECT_EQ(answer.failure.reason, "task 0 waits to join already");
  EXPECT_EQ(join(3, "1"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{1, 3}));
}

TEST_F(TrackerGroupTest, WhoIsGoneWaitsNoMore) {
  group_.begin(2);
  join(1, "0");
  group_.leave(1);
  EXPECT_EQ(join(2, "1"), TrackerJoin::kWaits);
  EXPECT_EQ(join(3, "0"), TrackerJoin::kComplete);
}

TEST_F(TrackerGroupTest, OneGroupFollowsAnother) {
  form(2);
  leave(0);
  EXPECT_EQ(join(1, "0"), TrackerJoin::kWaits);  // the other one is not through yet
  leave(1);
  EXPECT_EQ(join(2, "1"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{1, 2}));
}

TEST_F(TrackerGroupTest, ASecondSessionOfAMemberGivesWayToTheFirst) {
  form(2);
  join(1, "0");  // while task 0 is in the group that runs
  leave(0);
  leave(1);
  const auto answer = start(2, "0");
  EXPECT_EQ(answer.join, TrackerJoin::kWaits);
  EXPECT_EQ(answer.displaced, std::vector<TrackerClient>{1});
  EXPECT_EQ(join(3, "1"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{2, 3}));
}

// They lost one another and try again, each without having left.
TEST_F(TrackerGroupTest, AllMayComeAgainWithoutHavingLeft) {
  form(2);
  EXPECT_EQ(join(1, "1"), TrackerJoin::kWaits);
  EXPECT_EQ(join(2, "0"), TrackerJoin::kComplete);
  EXPECT_EQ(ranks(), (std::vector<TrackerClient>{2, 1}));
}

TEST_F(TrackerGroupTest, TwoWiresInOneGroupAreRefusedByName) {
  group_.begin(3);
  start(1, "2", "h", TrackerWire::kClassic);
  const auto answer = start(2, "0");
  EXPECT_EQ(answer.join, TrackerJoin::kMixed);
  EXPECT_EQ(answer.failure.rank, 0);
  EXPECT_EQ(answer.failure.reason,
            "task 2 has XGBoost 2.0 or older, task 0 has XGBoost 2.1 or newer, and they do not "
            "understand each other");
  EXPECT_EQ(group_.take_waiting(), std::vector<TrackerClient>{1});
  EXPECT_EQ(start(3, "0", "h", TrackerWire::kClassic).join, TrackerJoin::kWaits);
}

TEST_F(TrackerGroupTest, AnotherNumberOfWorkersIsRefused) {
  group_.begin(4);
  TrackerWorker worker;
  const auto answer = group_.start({TrackerWire::kClassic, -1, 3, "0"}, worker);
  EXPECT_EQ(answer.join, TrackerJoin::kRefused);
  EXPECT_EQ(answer.failure.reason, "task 0 wants a group of 3, the job has 4 workers");
}

TEST_F(TrackerGroupTest, WordsOfOthersAreNobodys) {
  form(2);
  EXPECT_EQ(group_.find(header(1)), &group_.worker(1));
  tracker::Header old = header(1);
  old.world_size = 3;
  EXPECT_EQ(group_.find(old), nullptr);
  tracker::Header other = header(1);
  other.task_id = "0";
  EXPECT_EQ(group_.find(other), nullptr);
  other.rank = -1;
  EXPECT_EQ(group_.find(other), nullptr);
  other.rank = 2;
  EXPECT_EQ(group_.find(other), nullptr);
}

TEST_F(TrackerGroupTest, WhoeverWaitsForOneThatHasEndedWaitsInVain) {
  group_.begin(3);
  group_.ended(1);
  EXPECT_FALSE(group_.deadlock());  // nobody waits
  join(1, "0");
  join(2, "2");
  const auto failure = group_.deadlock();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_EQ(failure->reason,
            "exit code 0, but task 0, task 2 wait for it to join the group of XGBoost");
}

TEST_F(TrackerGroupTest, NewWorkersBeginAnew) {
  form(2);
  group_.ended(0);
  group_.begin(3);
  EXPECT_TRUE(group_.workers().empty());
  EXPECT_EQ(join(1, "stray"), TrackerJoin::kWaits);
  EXPECT_FALSE(group_.deadlock());
}

}  // namespace
}  // namespace muster::rendezvous
