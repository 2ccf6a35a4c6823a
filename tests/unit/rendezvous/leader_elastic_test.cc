// Jobs whose launcher outlives changes of the nodes (JobOptions::elastic).
#include "rendezvous/events.h"
#include "rendezvous/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class ElasticLeader : public testing::LeaderFixture {
 protected:
  ElasticLeader() {
    options_.elastic = options_.first_node_decides = true;
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
  leader_->on_dialed(now_, output<leader_output::Dial>()->dial, DialResult::kRefused);
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
  RoundReport before = report_of(1, 7);
  before.node_rank = -1;
  before.node_count = 1;
  for (const bool uncertain : {true, false}) {
    LeaderSeed seed = seed_of(17, 1);
    seed.last_round = before;
    seed.uncertain = uncertain;
    outputs_.clear();
    lead(std::move(seed));
    for (const int node : {1, 2}) {
      Join join = join_of(node);
      join.last_round = before;
      this->join(node, join);
    }
    pass(3s, {1, 2});
    EXPECT_EQ(sent<Assign>(1).has_value(), !uncertain);
  }
  EXPECT_EQ(sent<Assign>(1)->round, 8u);
}

}  // namespace
}  // namespace muster::rendezvous
