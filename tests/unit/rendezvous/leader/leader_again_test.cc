// A leader that was started again: the node that it was has a successor here.
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A node that may lead, alone unless told otherwise, is started afresh and finds one of two nodes
// of a round that another in its place led.
class LeaderAgainTest : public testing::LeaderFixture {
 protected:
  LeaderAgainTest() { options_.min_nodes = 2; }

  void lead_again(std::string former_host) {
    outputs_.clear();
    LeaderSeed seed = seed_of(16, 0);
    seed.candidates = candidates_;
    lead(seed);
    Join own = join_of(0);
    own.candidate = 0;
    if (options_.rule.has_appointed()) {
      own.node_rank = 0;
      own.local_world_size = 0;
    }
    join(0, own);
    other_ = join_of(1);
    other_.last_round = report_of(1, 4);
    NodeIdentity former = own.identity;
    former.incarnation = 50;
    other_.last_round->roster = {{former, std::move(former_host), 29400},
                                 {other_.identity, other_.host, 29400}};
  }
  // When the round begins; none = a leader gives up before.
  std::optional<Duration> begins_after() {
    const TimePoint before = now_;
    join(1, other_);
    while (!output<leader_output::StepDown>() && now_ < before + seconds(100)) {
      if (sent<Assign>(1)) return now_ - before;
      pass(milliseconds(500), {0, 1});
    }
    return std::nullopt;
  }

  size_t candidates_ = 1;
  Join other_;
  static constexpr const char* kHere = "10.0.0.1";
  static constexpr const char* kElsewhere = "10.0.0.9";
};

// The other node alone is half of the last round, without the lowest. Only that its leader was
// started again where it was proves that the last one is gone; what that led may live on for a
// lease.
TEST_F(LeaderAgainTest, GoesOnWithTheOtherNodeAfterALease) {
  for (const bool launches : {true, false}) {
    options_.rule = {};
    if (launches) options_.rule = {TakesPart::kEveryNode, Decides::kFirstNode, FirstNode::kApart};
    candidates_ = launches ? 0 : 1;
    options_.min_nodes = launches ? 2 : 1;
    lead_again(kHere);
    EXPECT_EQ(begins_after(), seconds(10));
  }
}

TEST_F(LeaderAgainTest, ProvesNothingWhereOthersMayLead) {
  candidates_ = 0;
  lead_again(kHere);
  EXPECT_FALSE(begins_after());
  EXPECT_EQ(
      output<leader_output::StepDown>()->reason,
      "no quorum for a lease: 1 of the 2 nodes of round 4 that may still run is here, without the "
      "lowest; "
      "worker-0 (index 0) (10.0.0.1:29400) may run where it is not seen");
  // Told of one endpoint, while the other node was told of more.
  candidates_ = 1;
  lead_again(kHere);
  other_.candidate = 1;
  EXPECT_FALSE(begins_after());
  candidates_ = 3;
  lead_again(kHere);
  other_.candidate = 1;
  EXPECT_FALSE(begins_after());
  // All are here.
  candidates_ = 2;
  lead_again(kHere);
  other_.candidate = 1;
  EXPECT_EQ(begins_after(), seconds(10));
}

// Until then it may lead those elsewhere who know of a later round.
TEST_F(LeaderAgainTest, WaitsForAllWhoMayLeadUntilTheRoundBegins) {
  options_.max_nodes = 3;
  candidates_ = 2;
  lead_again(kHere);
  join(1, other_);
  Join third = join_of(2);
  third.candidate = 1;
  join(2, third);
  pass(seconds(9), {0, 1, 2});
  leader_->on_link_closed(now_, link_of(2));
  pass(seconds(5), {0, 1});
  EXPECT_FALSE(sent<Assign>(1));
}

// The former one may live where nobody reaches it. Without the other node it has no round, once it
// missed that for a lease (for one more, if the network held words of it back) and stopped.
TEST_F(LeaderAgainTest, WaitsLongerForAFormerOneElsewhere) {
  options_.stop_grace = seconds(6);
  const Duration in_all = seconds(2) + 2 * seconds(10) +
                          seconds(6);  // to be suspect, a tenth of the lease, with the first
  lead_again(kElsewhere);
  other_.former_leader_ms = 3000;
  const auto after = begins_after();
  ASSERT_TRUE(after);
  EXPECT_GE(*after, in_all - seconds(3) - seconds(1));
  EXPECT_LE(*after, in_all - seconds(3));
  lead_again(kElsewhere);
  other_.former_leader_ms = 300'000;
  EXPECT_EQ(begins_after(), seconds(10));
}

// What a controller calls the pod that comes next is its business.
TEST_F(LeaderAgainTest, ALauncherMayBearAnotherName) {
  for (const bool launches : {true, false}) {
    options_.rule.first = launches ? FirstNode::kAppointed : FirstNode::kAny;
    lead_again(kElsewhere);
    other_.last_round->roster.front().identity = {"pi-launcher-x7k2p", {}, 50};
    EXPECT_EQ(begins_after().has_value(), launches);
  }
}

TEST_F(LeaderAgainTest, DoesNotGoOnIfTheFormerOneCouldWithoutTheOtherNode) {
  options_.min_nodes = 1;
  lead_again(kElsewhere);
  EXPECT_FALSE(begins_after());
  options_.min_nodes = 2;
  options_.spares = 1;
  lead_again(kElsewhere);
  EXPECT_FALSE(begins_after());
  options_.spares = 0;
  lead_again(kElsewhere);
  other_.last_round->workers = false;
  other_.last_round->succeeded = true;
  EXPECT_FALSE(begins_after());
}

// Two agents of one machine, under one name: neither is the other's successor.
TEST_F(LeaderAgainTest, IsNotTheOtherAgentOfItsMachine) {
  lead_again(kElsewhere);
  for (RosterEntry& entry : other_.last_round->roster) {
    entry.identity.name = "worker-0";
    entry.identity.index.reset();
  }
  EXPECT_FALSE(begins_after());
}

// --node-rank says where it sits, whatever it is called.
TEST_F(LeaderAgainTest, MayBearAnotherNameWhereBothKnowTheirNumber) {
  for (const char* where : {kHere, kElsewhere}) {
    lead_again(where);
    other_.last_round->roster.front().identity.name = "nought";
    EXPECT_TRUE(begins_after()) << where;
    lead_again(where);
    other_.last_round->roster.front().identity.index = 7;
    EXPECT_FALSE(begins_after()) << where;
  }
}

// A pod may come back without its number, or with it for the first time.
TEST_F(LeaderAgainTest, MayHaveLostItsNumber) {
  lead_again(kHere);
  other_.last_round->roster.front().identity.index.reset();
  EXPECT_EQ(begins_after(), seconds(10));
}

// Of two that are new with one name it is the one at that address.
TEST_F(LeaderAgainTest, IsTheOneAtItsAddress) {
  options_.max_nodes = 3;
  for (const bool here : {true, false}) {
    lead_again(here ? kHere : kElsewhere);
    Join namesake = join_of(2);
    namesake.identity.name = join_of(0).identity.name;
    namesake.identity.index.reset();
    join(2, namesake);
    other_.last_round->roster.front().identity.index.reset();
    EXPECT_EQ(begins_after().has_value(), here);
    outputs_.clear();
  }
}

TEST_F(LeaderAgainTest, OutranksEveryTermThatANodeKnows) {
  lead_again(kHere);
  const uint64_t own = leader_->term();
  leader_->on_message(now_, link_of(1), Hello{kControlVersion, "job", false, own + 160, {}, {}});
  turn();
  EXPECT_GT(sent<Welcome>(1)->term, own + 160);
  EXPECT_TRUE(begins_after());
  EXPECT_EQ(sent<Assign>(1)->term, leader_->term());
  const uint64_t raised = leader_->term();
  leader_->on_message(now_, 9, Hello{kControlVersion, "job", false, raised, {}, {}});
  EXPECT_EQ(leader_->term(), raised);
}

}  // namespace
}  // namespace muster::rendezvous
