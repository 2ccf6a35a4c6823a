#include "rendezvous/agreement/target_size.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

class TargetSizeTest : public testing::Test {
 protected:
  TargetSizeTest() {
    options_.min_nodes = 2;
    options_.max_nodes = 8;
    options_.nodes_step = 2;
  }
  std::string refused(int nodes) {
    const auto asked = target_.ask(nodes, false, 16, options_);
    return asked ? "" : asked.error().text;
  }

  JobOptions options_;
  TargetSize target_;
};

TEST_F(TargetSizeTest, GrowthThatIsAskedForAtOnceWaitsForNothingUntilItIsThere) {
  const GrowVerdict waits{false, TimePoint(std::chrono::seconds(9)), "--scale-up-quiet"};
  EXPECT_FALSE(target_.hurried(waits).now);
  ASSERT_TRUE(target_.ask(6, true, 16, options_));
  EXPECT_TRUE(target_.hurried(waits).now);
  target_.reached(4, options_);
  EXPECT_TRUE(target_.hurried(waits).now);
  target_.reached(6, options_);
  EXPECT_FALSE(target_.hurried(waits).now);
}

TEST_F(TargetSizeTest, IsWhatWasAskedForLast) {
  EXPECT_EQ(target_.nodes(), std::nullopt);
  EXPECT_EQ(refused(4), "");
  EXPECT_EQ(target_.nodes(), 4);
  EXPECT_EQ(refused(6), "");
  EXPECT_EQ(target_.nodes(), 6);
  EXPECT_EQ(target_.asked()->number, 2U);
  EXPECT_EQ(refused(0), "");  // as many as may be
  EXPECT_EQ(target_.nodes(), std::nullopt);
  EXPECT_EQ(target_.asked()->number, 3U);
}

TEST_F(TargetSizeTest, OtherSizesAreRefusedAndChangeNothing) {
  EXPECT_EQ(refused(4), "");
  EXPECT_EQ(refused(5), "5 nodes is no size of this job, which takes 2, 4, 6 or 8 nodes");
  EXPECT_NE(refused(1), "");
  EXPECT_NE(refused(10), "");
  EXPECT_NE(refused(-2), "");
  EXPECT_EQ(target_.nodes(), 4);
  EXPECT_FALSE(target_.follow_list(3, options_).has_value());
  EXPECT_EQ(target_.nodes(), 4);
}

TEST_F(TargetSizeTest, AListOfHostsSaysMore) {
  EXPECT_EQ(refused(4), "");
  EXPECT_TRUE(target_.follow_list(6, options_).has_value());
  EXPECT_EQ(target_.nodes(), 6);
  EXPECT_NE(refused(2).find("list of hosts"), std::string::npos);
  EXPECT_TRUE(target_.follow_list(std::nullopt, options_).has_value());
  EXPECT_EQ(target_.nodes(), 4);
}

TEST_F(TargetSizeTest, TheNewerRequestCounts) {
  target_.learn(SizeRequest{3, 6, 16}, options_);
  target_.learn(SizeRequest{2, 4, 16}, options_);
  target_.learn(std::nullopt, options_);
  target_.learn(SizeRequest{4, 7, 16}, options_);  // no size of this job
  EXPECT_EQ(target_.nodes(), 6);
  EXPECT_EQ(refused(2), "");
  EXPECT_EQ(target_.asked()->number, 4U);
}

// The former leader took two more when its nodes were out of reach already.
TEST_F(TargetSizeTest, WhatALaterLeaderTookCountsWhateverItsNumber) {
  target_.learn(SizeRequest{2, 6, 32}, options_);
  target_.learn(SizeRequest{3, 4, 16}, options_);
  EXPECT_EQ(target_.nodes(), 6);
  target_.learn(SizeRequest{1, 2, 48}, options_);
  EXPECT_EQ(target_.nodes(), 2);
  EXPECT_EQ(refused(8), "");  // of a leader that never heard of term 48
  TargetSize next;
  next.learn(SizeRequest{1, 2, 48}, options_);
  next.learn(target_.asked(), options_);
  EXPECT_EQ(next.nodes(), 8);
}

TEST_F(TargetSizeTest, ALauncherApartIsNotCountedByWhoAsks) {
  options_.min_nodes = 3;
  options_.max_nodes = 9;
  options_.rule.first = FirstNode::kApart;
  EXPECT_EQ(refused(4), "");
  EXPECT_EQ(target_.nodes(), 5);
  EXPECT_EQ(refused(3), "3 nodes is no size of this job, which takes 2, 4, 6 or 8 nodes");
}

TEST_F(TargetSizeTest, AnElasticLauncherTakesWhatIsThere) {
  options_.rule.takes_part = TakesPart::kLeadersNode;
  EXPECT_NE(refused(4), "");
}

TEST_F(TargetSizeTest, SizesInWords) {
  options_ = {};
  EXPECT_EQ(sizes_text(options_), "1 node");
  options_.max_nodes = 64;
  EXPECT_EQ(sizes_text(options_), "1 to 64 nodes");
  options_.nodes_step = 3;
  EXPECT_EQ(sizes_text(options_), "1 to 64 nodes in steps of 3");
  options_.nodes_step = 1;
  options_.allowed_nodes = {1, 2, 4};
  EXPECT_EQ(sizes_text(options_), "1, 2 or 4 nodes");
}

}  // namespace
}  // namespace muster::rendezvous
