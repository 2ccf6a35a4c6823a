// The leader with the policy of real jobs: when a round grows, how long a lost node's place is kept
// and who gets it, how long the others may save.
#include <algorithm>

#include "elastic/round_policy.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kHalf = milliseconds(500);  // how exactly a fixture's time passes

class LeaderPolicyTest : public testing::LeaderFixture {
 protected:
  LeaderPolicyTest() {
    options_.max_nodes = 3;
    options_.last_call = Duration::zero();
    limits_.restarts.max_restarts = 3;
    limits_.scale_up_quiet = seconds(5);
    limits_.scale_up_interval = seconds(20);
    limits_.replace_wait = seconds(8);
  }
  void lead_with_policy() {
    rules_ = std::make_unique<elastic::RoundPolicy>(limits_, 1);
    began_ = now_;
    leader_ = std::make_unique<Leader>(now_, options_, *rules_, seed_of(16, 0));
    turn();
  }
  /// Node 0 alone, which runs round 1.
  void run_one() {
    lead_with_policy();
    join(0);
    for (int i = 0; i < 20 && !sent<Assign>(0); ++i) pass(kHalf, {0});
    start({0});
  }
  /// Of node 0 to 2.
  void run_three() {
    lead_with_policy();
    for (const int node : {0, 1, 2}) join(node);
    start({0, 1, 2});
  }
  /// The round that has just been formed, on these nodes.
  void start(const std::vector<int>& nodes) {
    ASSERT_EQ(leader_->state(), LeaderState::kAssigned);
    formed_ = now_;
    for (const int node : nodes) {
      ASSERT_TRUE(sent<Assign>(node));
      EXPECT_EQ(sent<Assign>(node)->round, leader_->round());
      EXPECT_EQ(sent<Assign>(node)->node_count, static_cast<int>(nodes.size()));
      say(node, Started{leader_->round()});
    }
    ASSERT_EQ(leader_->state(), LeaderState::kRunning);
    outputs_.clear();
  }
  void stopped(const std::vector<int>& nodes) {
    const uint64_t round = leader_->round();
    for (const int node : nodes) say(node, Stopped{round});
  }
  /// It runs until then, and no longer.
  void expect_stop_at(TimePoint at, const std::vector<int>& nodes) {
    pass(at - kHalf - now_, nodes);
    EXPECT_EQ(leader_->state(), LeaderState::kRunning);
    pass(at - now_, nodes);
    EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  }
  /// Node 1 says goodbye, and node 0 of these two stops later than that.
  void lose_one_of_two() {
    run_two_with_policy();
    say(1, Goodbye{"x"});
    lost_ = now_;
    pass(seconds(3), {0});
    stopped({0});
  }
  void run_two_with_policy() {
    options_.max_nodes = 2;
    lead_with_policy();
    for (const int node : {0, 1}) join(node);
    start({0, 1});
  }
  static Join stranger(const std::string& name, int number) {
    Join join = join_of(number);
    join.identity.name = name;
    join.identity.index.reset();
    return join;
  }

  elastic::RoundPolicyOptions limits_;
  std::unique_ptr<elastic::RoundPolicy> rules_;
  TimePoint formed_, lost_;
};

TEST_F(LeaderPolicyTest, BetweenTwoGrowthsTheIntervalPasses) {
  run_one();
  for (const int newcomer : {1, 2}) {
    std::vector<int> members, all;
    for (int node = 0; node <= newcomer; ++node) all.push_back(node);
    members.assign(all.begin(), all.end() - 1);
    join(newcomer);
    EXPECT_TRUE(sent<Waiting>(newcomer)->spare);
    expect_stop_at(formed_ + limits_.scale_up_interval, all);
    stopped(members);
    start(all);
  }
}

TEST_F(LeaderPolicyTest, AfterAnyStartTheQuietTimePasses) {
  run_one();
  pass(limits_.scale_up_interval, {0});
  say(0, failure(1));
  stopped({0});
  start({0});
  join(1);
  EXPECT_TRUE(sent<Waiting>(1)->spare);
  expect_stop_at(formed_ + limits_.scale_up_quiet, {0, 1});
  stopped({0});
  start({0, 1});
}

TEST_F(LeaderPolicyTest, ARestartIsNoReasonToGrowBeforeItIsTime) {
  for (const bool in_time : {false, true}) {
    run_one();
    if (in_time) pass(limits_.scale_up_interval, {0});
    say(0, failure(1));
    join(1);
    stopped({0});
    ASSERT_EQ(leader_->state(), LeaderState::kAssigned);
    EXPECT_EQ(sent<Assign>(0)->node_count, in_time ? 2 : 1);
    EXPECT_EQ(sent<Assign>(1).has_value(), in_time);
    outputs_.clear();
  }
}

TEST_F(LeaderPolicyTest, AGrowthAtARestartIsOne) {
  run_one();
  pass(limits_.scale_up_interval, {0});
  say(0, failure(1));
  join(1);
  stopped({0});
  start({0, 1});
  join(2);
  expect_stop_at(formed_ + limits_.scale_up_interval, {0, 1, 2});
}

TEST_F(LeaderPolicyTest, ASuccessorIsAwaitedFromTheLossOn) {
  lose_one_of_two();
  pass(lost_ + limits_.replace_wait - kHalf - now_, {0});
  EXPECT_FALSE(sent<Assign>(0));
  pass(kHalf, {0});
  start({0});
}

TEST_F(LeaderPolicyTest, ASuccessorThatComesIsNotAwaitedAnyLonger) {
  lose_one_of_two();
  pass(seconds(2), {0});
  EXPECT_FALSE(sent<Assign>(0));
  join(2, stranger("another", 2));
  start({0, 2});
}

TEST_F(LeaderPolicyTest, ASuccessorOfAnotherNameGetsTheFreeRankAndKeepsIt) {
  for (const char* name : {"a", "worker-1a", "z"}) {
    for (const bool numbered : {true, false}) {
      lead_with_policy();
      for (const int node : {0, 1, 2})
        join(node, numbered ? join_of(node) : stranger("worker-" + std::to_string(node), node));
      start({0, 1, 2});
      say(1, Goodbye{"x"});
      stopped({0, 2});
      EXPECT_FALSE(sent<Assign>(0));
      join(3, stranger(name, 3));
      for (const bool again : {false, true}) {
        const auto rank_of = [this](int node) {
          return sent<Assign>(node) ? sent<Assign>(node)->node_rank : -1;
        };
        const auto heir = sent<Assign>(3);
        ASSERT_TRUE(heir) << name;
        EXPECT_EQ(heir->node_rank, 1) << name;
        EXPECT_EQ(heir->rank_offset, 1);
        ASSERT_TRUE(heir->seat);
        EXPECT_EQ(heir->seat->name, "worker-1");
        EXPECT_EQ(rank_of(0), 0) << name;
        EXPECT_EQ(rank_of(2), 2) << name;
        start({0, 2, 3});
        if (again) break;
        say(2, failure(leader_->round()));
        stopped({0, 2, 3});
      }
      outputs_.clear();
    }
  }
}

// It was cut off while another one got its place, in a round that has not run everywhere yet.
TEST_F(LeaderPolicyTest, WhoComesBackDoesNotPushItsHeirAway) {
  run_three();
  leader_->on_link_closed(now_, link_of(1));
  pass(options_.lease + seconds(1), {0, 2});
  stopped({0, 2});
  join(3, stranger("z", 3));
  ASSERT_TRUE(sent<Assign>(3));
  EXPECT_EQ(sent<Assign>(3)->node_rank, 1);
  say(0, Started{2});
  say(2, Goodbye{"x"});
  stopped({0, 3});
  outputs_.clear();
  Join back = join_of(1);
  back.last_round = report_of(1, 1);
  back.last_round->node_count = 3;
  join(1, std::move(back));
  ASSERT_TRUE(sent<Assign>(3));
  EXPECT_EQ(sent<Assign>(0)->node_rank, 0);
  EXPECT_EQ(sent<Assign>(3)->node_rank, 1);
  EXPECT_EQ(sent<Assign>(1)->node_rank, 2);
}

// Half of it the leaver's workers had to save, while the others ran; the other half is left.
TEST_F(LeaderPolicyTest, TheOthersStopWithinTheTimeThatALeaverHas) {
  for (const int64_t half_ms : {2000, 10'000, 40'000}) {
    const int64_t most_ms = std::chrono::duration_cast<milliseconds>(options_.stop_grace).count();
    run_three();
    say(1, Leaving{"SIGTERM", 2 * half_ms});
    expect_stop_at(now_ + milliseconds(half_ms), {0, 1, 2});
    for (const int node : {0, 1, 2}) {
      ASSERT_TRUE(sent<Stop>(node));
      EXPECT_EQ(sent<Stop>(node)->grace_ms, std::min(half_ms, most_ms));
    }
    outputs_.clear();
  }
}

TEST_F(LeaderPolicyTest, AChangeOfSizeWaitsUntilALeaverHasSaved) {
  for (const bool grows : {false, true}) {
    run_two_with_policy();
    options_.max_nodes = 3;
    pass(limits_.scale_up_interval, {0, 1});
    ASSERT_EQ(leader_->state(), LeaderState::kRunning);
    const TimePoint saved = now_ + seconds(4);
    say(1, Leaving{"SIGTERM", 8000});
    if (grows) {
      join(2);
    } else {
      ASSERT_TRUE(leader_->resize(now_, {.nodes = 1, .by = "test"}));
      turn();
    }
    expect_stop_at(saved, {0, 1, 2});
    outputs_.clear();
  }
}

TEST_F(LeaderPolicyTest, OfTwoThatLeaveTheOneWithLessTimeCounts) {
  run_two_with_policy();
  say(1, Leaving{"SIGTERM", 4000});
  say(0, Leaving{"SIGTERM", 20'000});
  say(1, Stopped{1});
  EXPECT_EQ(sent<Stop>(0)->grace_ms, 2000);
}

}  // namespace
}  // namespace muster::rendezvous
