// Jobs whose launcher outlives changes of the nodes (TakesPart::kLeadersNode).
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class ElasticLeader : public testing::LeaderFixture {
 protected:
  ElasticLeader() {
    options_.rule = {TakesPart::kLeadersNode, Decides::kFirstNode};
    options_.min_nodes = 2;
    options_.max_nodes = 3;
    options_.last_call = 0s;
  }
  // Three nodes are there, the leader's own launches.
  void run() {
    lead();
    for (const int node : {0, 1, 2}) join(node);
    say(0, Started{leader_->round()});
    ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  }
  // Node 1 leads after round 7 of another launcher, with node 2.
  void take_over(bool uncertain) {
    LeaderSeed seed = seed_of(17, 1);
    seed.last_round = report_of(1, 7);
    seed.last_round->node_rank = -1;
    seed.last_round->node_count = 1;
    seed.uncertain = uncertain;
    take_over(std::move(seed));
  }
  void take_over(LeaderSeed seed) {
    const auto before = seed.last_round;
    outputs_.clear();
    lead(std::move(seed));
    for (const int node : {1, 2}) {
      Join join = join_of(node);
      if (node == 1) join.last_round = before;
      this->join(node, join);
    }
    pass(3s, {1, 2});
  }
  Names names() const {
    Names names;
    for (const RosterEntry& node : leader_->nodes()) names.push_back(node.identity.name);
    return names;
  }
};

TEST_F(ElasticLeader, TheRoundIsTheLeadersOwnNodeOnceEnoughAreThere) {
  lead();
  join(2);
  EXPECT_EQ(leader_->state(), LeaderState::kGathering);
  join(0);
  pass(3s, {0, 2});
  ASSERT_EQ(leader_->state(), LeaderState::kAssigned);
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
  EXPECT_FALSE(sent<Assign>(2).has_value());
}

TEST_F(ElasticLeader, WhoComesAndGoesChangesTheListAndNothingElse) {
  run();
  EXPECT_EQ(names(), (Names{"worker-0", "worker-1", "worker-2"}));
  EXPECT_TRUE(sent<Waiting>(2)->spare);
  join(3);
  EXPECT_EQ(names().size(), 4u);
  say(2, Goodbye{"got SIGTERM"});
  leader_->on_link_closed(now_, link_of(1));
  turn();
  // It may have lost only its connection.
  EXPECT_EQ(names(), (Names{"worker-0", "worker-1", "worker-3"}));
  leader_->on_dialed(now_, output<NodeDial>()->dial, DialResult::kRefused);
  turn();
  EXPECT_EQ(names(), (Names{"worker-0", "worker-3"}));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  EXPECT_EQ(leader_->round(), 1u);
}

TEST_F(ElasticLeader, ASilentNodeStaysOnTheListForALease) {
  run();
  pass(9s, {0, 2});
  EXPECT_EQ(names().size(), 3u);
  pass(2s, {0, 2});
  EXPECT_EQ(names(), (Names{"worker-0", "worker-2"}));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
}

TEST_F(ElasticLeader, WhatTheLauncherSaysIsTheJobsEnd) {
  run();
  say(0, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(1)->success);
  EXPECT_TRUE(sent<Finish>(2)->success);
}

TEST_F(ElasticLeader, TheNextLeaderLaunchesWhenNoOtherCanBeAlive) {
  for (const bool uncertain : {true, false}) {
    take_over(uncertain);
    EXPECT_EQ(sent<Assign>(1).has_value(), !uncertain);
  }
  EXPECT_EQ(sent<Assign>(1)->round, 8u);
}

// One whose agent was started again at once may have launched before this one did (found by the
// simulator, seeds 3034236 and 3046527).
TEST_F(ElasticLeader, WhoDidNotLaunchLastAsksTheOthersFirst) {
  answers_ = CandidateAnswers{.silent = false, .elsewhere = true, .workers = false};
  take_over(false);
  EXPECT_TRUE(output<leader_output::AskCandidates>());
  EXPECT_TRUE(output<leader_output::StepDown>());
  EXPECT_FALSE(sent<Assign>(1));

  answers_ = CandidateAnswers{.silent = true, .elsewhere = false, .workers = false};
  take_over(false);
  EXPECT_FALSE(sent<Assign>(1));
}

// The last launcher's agent lost its leader, or is told to end, and its launcher runs.
TEST_F(ElasticLeader, WaitsForThoseWhoHaveWorkers) {
  answers_ = CandidateAnswers{.silent = false, .elsewhere = false, .workers = true};
  take_over(false);
  EXPECT_TRUE(output<leader_output::AskCandidates>());
  EXPECT_FALSE(sent<Assign>(1));
  answers_ = CandidateAnswers{};
  pass(2s, {1, 2});
  EXPECT_TRUE(sent<Assign>(1));
}

TEST_F(ElasticLeader, TheLaunchersOwnNodeGoesOnUnlessItLetAnotherLead) {
  for (const bool yielded : {false, true}) {
    LeaderSeed seed = seed_of(33, 1);
    seed.last_round = report_of(0, 7);
    seed.last_round->node_count = 1;
    seed.uncertain = true;
    seed.yielded = yielded;
    take_over(std::move(seed));
    EXPECT_EQ(sent<Assign>(1).has_value(), !yielded);
  }
}

// With a node that came over another launcher may have begun, which goes on without it.
TEST_F(ElasticLeader, NodesThatFollowedAnotherDoNotMakeAFirstRoundWhereOneIsSilent) {
  for (const bool followed : {false, true}) {
    outputs_.clear();
    LeaderSeed seed = seed_of(16, 0);
    seed.uncertain = true;
    lead(std::move(seed));
    join(0);
    Join other = join_of(1);
    if (followed) other.former_leader_ms = 60'000;
    join(1, other);
    pass(5s, {0, 1});
    EXPECT_EQ(sent<Assign>(0).has_value(), !followed);
  }
}

}  // namespace
}  // namespace muster::rendezvous
