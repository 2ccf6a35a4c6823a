// A job that is told to have another number of nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

class LeaderSizeTest : public testing::LeaderFixture {
 protected:
  LeaderSizeTest() {
    options_.min_nodes = 1;
    options_.max_nodes = 2;
  }
};

TEST_F(LeaderSizeTest, FewerNodesEndTheRoundAndTheRestGoesOn) {
  run_two();
  EXPECT_FALSE(leader_->resize(now_, {.nodes = 3, .by = "worker-9"}).has_value());
  EXPECT_TRUE(leader_->resize(now_, {.nodes = 1, .by = "worker-9"}).has_value());
  turn();
  for (const int node : {0, 1}) say(node, Stopped{1});
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
  EXPECT_EQ(sent<Assign>(0)->round, 2u);
  EXPECT_TRUE(sent<Waiting>(1)->spare);
}

TEST_F(LeaderSizeTest, GrowthWaitsUnlessItIsAskedForAtOnce) {
  for (const bool at_once : {false, true}) {
    outputs_.clear();
    run_two();
    ASSERT_TRUE(leader_->resize(now_, {.nodes = 1, .by = "worker-9"}));
    turn();
    for (const int node : {0, 1}) say(node, Stopped{1});
    say(0, Started{2});
    policy_.grow_at = now_ + std::chrono::minutes(5);
    ASSERT_TRUE(leader_->resize(now_, {.nodes = 2, .at_once = at_once, .by = "worker-9"}));
    turn();
    EXPECT_EQ(leader_->state(), at_once ? LeaderState::kStopping : LeaderState::kRunning);
    const bool waits = leader_->status_json(now_).find("growth for 5 min") != std::string::npos;
    EXPECT_EQ(waits, !at_once) << leader_->status_json(now_);
    const auto status = parse_json(leader_->status_json(now_));
    EXPECT_EQ(status->value("growth_wait_s", 0.0), at_once ? 0 : 300);
  }
}

TEST_F(LeaderSizeTest, ToldThatMoreNodesAreHereThanWasSaid) {
  struct Case {
    int spares;
    size_t candidates;
    std::vector<int> speak;
    bool warns;
  };
  for (const auto& [spares, candidates, speak, warns] :
       std::vector<Case>{{0, 2, {0, 1, 2}, true},
                         {1, 2, {0, 1, 2}, false},
                         {0, 1, {0, 1, 2}, false},
                         {0, 0, {0, 1, 2}, true},
                         {0, 2, {0, 2}, false}}) {  // the third may have come for the second
    outputs_.clear();
    options_.spares = spares;
    LeaderSeed seed = seed_of(16, 0);
    seed.candidates = candidates;
    lead(std::move(seed));
    for (const int node : {0, 1, 2}) join(node);
    pass(std::chrono::seconds(5), speak);
    const auto warns_now = std::ranges::any_of(outputs_, [](const LeaderOutput& output) {
      const auto* said = std::get_if<leader_output::Log>(&output);
      return said != nullptr && said->event == "node.surplus";
    });
    EXPECT_EQ(warns_now, warns) << spares << " " << candidates << " " << speak.size();
  }
}

TEST_F(LeaderSizeTest, EveryNodeHearsOfItAtOnceAndWithItsNextAnswer) {
  run_two();
  say(1, Heartbeat{1, 1, -1, clock_ms()});
  EXPECT_EQ(sent<Ack>(1)->size, std::nullopt);
  EXPECT_TRUE(leader_->resize(now_, {.nodes = 2, .by = "worker-9"}).has_value());
  turn();
  ASSERT_TRUE(sent<Ack>(0)->size);
  EXPECT_TRUE(sent<Ack>(0)->in_vain);
  say(1, Heartbeat{2, 1, -1, clock_ms()});
  ASSERT_TRUE(sent<Ack>(1)->size);
  EXPECT_EQ(sent<Ack>(1)->size->nodes, 2);
}

TEST_F(LeaderSizeTest, ALaterLeaderLearnsItFromAnyNode) {
  lead();
  Join own = join_of(0);
  own.size = SizeRequest{3, 1, 16};
  join(0, own);
  pass(std::chrono::seconds(3), {0});  // less than the last call: nobody else is waited for
  ASSERT_TRUE(sent<Assign>(0));
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
}

TEST_F(LeaderSizeTest, WithoutAQuorumNothingIsPromised) {
  LeaderSeed seed;
  seed.term = 33;
  seed.name = "worker-1";
  seed.last_round = RoundReport{};
  seed.last_round->round = 4;
  seed.last_round->node_rank = 1;
  seed.last_round->node_count = 3;
  lead(seed);
  const auto resized = leader_->resize(now_, {.nodes = 1, .by = "worker-9"});
  ASSERT_FALSE(resized.has_value());
  EXPECT_EQ(resized.error().code, Code::kPeer);
}

// Its nodes follow another one by then, as far as it can know (found by the simulator, seed 463).
TEST_F(LeaderSizeTest, ALeaderThatWasFrozenPromisesNothing) {
  for (const bool long_enough_for_another : {false, true}) {
    run_two();
    now_ += long_enough_for_another ? 2 * options_.lease : options_.lease / 2;
    const auto resized = leader_->resize(now_, {.nodes = 1, .by = "worker-9"});
    ASSERT_FALSE(resized.has_value());
    EXPECT_EQ(resized.error().code, Code::kPeer);
    turn();
    EXPECT_EQ(output<leader_output::StepDown>().has_value(), long_enough_for_another);
    outputs_.clear();
  }
}

}  // namespace
}  // namespace muster::rendezvous
