// What a leader tells of its nodes and of why rounds ended: in the log, to the nodes and to
// `muster status`.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "rendezvous/agreement/events.h"
#include "rendezvous/wire/control_protocol.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class LeaderStatusTest : public testing::LeaderFixture {
 protected:
  [[nodiscard]] nlohmann::json status() const {
    return nlohmann::json::parse(leader_->status_json(now_));
  }
  [[nodiscard]] Lines said(std::string_view event) const {
    Lines lines;
    for (const LeaderOutput& output : outputs_) {
      const auto* line = std::get_if<leader_output::Log>(&output);
      if (line != nullptr && line->event == event) lines.push_back(line->reason);
    }
    return lines;
  }
  // Node 1's, which was in round 4 of node 0.
  LeaderSeed successor() {
    LeaderSeed seed = seed_of(33, 1);
    seed.evidence_until = now_ + 10s;
    seed.last_round = own_report();
    return seed;
  }
  static RoundReport own_report() {
    RoundReport report = report_of(1, 4);
    report.leader_rank = 0;
    report.workers = true;
    report.roster = {{join_of(0).identity, "10.0.0.1", 29400},
                     {join_of(1).identity, "10.0.0.2", 29400}};
    return report;
  }
  void join_with_report() {
    Join own = join_of(1);
    own.last_round = own_report();
    join(1, own);
  }
};

TEST_F(LeaderStatusTest, APauseBeforeARestartIsAReason) {
  policy_.delay = 5s;
  fail_two();
  EXPECT_EQ(status()["reasons"]["round.waiting"], "a pause before the restart");
  pass(6s, {0, 1});
  EXPECT_FALSE(status()["reasons"].contains("round.waiting"));
}

TEST_F(LeaderStatusTest, NodesComeByRankAndSparesAreCalledSo) {
  lead();
  join(1);
  join(0);
  join(3);
  join(2);
  std::vector<std::pair<std::string, std::string>> nodes;
  const nlohmann::json found = status();
  for (const auto& node : found["nodes"]) nodes.emplace_back(node["name"], node["state"]);
  using Nodes = decltype(nodes);
  EXPECT_EQ(nodes, (Nodes{{"worker-0", "assigned"},
                          {"worker-1", "assigned"},
                          {"worker-2", "spare"},
                          {"worker-3", "spare"}}));
}

TEST_F(LeaderStatusTest, BeforeARoundNobodyIsASpare) {
  options_.min_nodes = 2;
  lead();
  join(0);
  EXPECT_EQ(status()["nodes"][0]["state"], "idle");
}

TEST_F(LeaderStatusTest, SizesBetweenWhichThereAreOthersAreTold) {
  options_.min_nodes = 2;
  options_.max_nodes = 4;
  lead();
  EXPECT_FALSE(status().contains("sizes"));
  options_.allowed_nodes = {4};
  lead();
  for (const int node : {0, 1, 2}) join(node);
  pass(1s, {0, 1, 2});  // before that others are expected
  EXPECT_EQ(status()["sizes"], "4 nodes");
  EXPECT_EQ(status()["reasons"]["round.waiting"], "3 nodes, and the job takes 4 nodes");
}

TEST_F(LeaderStatusTest, WhoIsMissingIsToldUntilThereIsARound) {
  options_.min_nodes = 2;
  lead();
  join(0);
  leader_->on_missing("waiting for 1 of 2: worker-1 (refused)");
  EXPECT_EQ(status()["reasons"]["discovery.waiting"], "waiting for 1 of 2: worker-1 (refused)");
  join(1);
  EXPECT_FALSE(status()["reasons"].contains("discovery.waiting"));
}

TEST_F(LeaderStatusTest, WhoIsMissingIsInTheLastWord) {
  options_.min_nodes = 2;
  options_.expected_nodes = {"worker-0", "worker-1"};
  lead();
  join(0);
  leader_->on_missing("waiting for 1 of 2: worker-1 (refused)");
  pass(options_.join_timeout + 1s, {0});
  ASSERT_TRUE(sent<Finish>(0));
  EXPECT_TRUE(sent<Finish>(0)->reason.ends_with(
      "here: worker-0 (index 0); waiting for 1 of 2: worker-1 (refused)"))
      << sent<Finish>(0)->reason;
}

TEST_F(LeaderStatusTest, OfKnownNodesTheRankThatIsMissingIsNamed) {
  options_.min_nodes = options_.max_nodes = 2;
  options_.known_nodes = true;
  lead();
  Join second = join_of(1);
  second.node_rank = 1;
  join(1, second);
  pass(options_.join_timeout + 1s, {1});
  ASSERT_TRUE(sent<Finish>(1));
  EXPECT_TRUE(sent<Finish>(1)->reason.ends_with("; missing: node rank 0"))
      << sent<Finish>(1)->reason;
}

TEST_F(LeaderStatusTest, AfterATakeOverWhoEndedWithTheLeaderIsNamed) {
  lead(successor());
  const auto dial = output<NodeDial>();
  ASSERT_TRUE(dial);
  join_with_report();
  ASSERT_TRUE(sent<Stop>(1));
  EXPECT_EQ(sent<Stop>(1)->reason, "worker-0, the leader of round 4, is gone; worker-1 leads");
  EXPECT_EQ(status()["last_stop"], sent<Stop>(1)->reason);
  leader_->on_dialed(now_, dial->dial, DialResult::kRefused);
  turn();
  const std::string lost = "worker-0 (index 0) ended: nothing listens where its agent did";
  EXPECT_EQ(said(kEventNodeLost), Lines{lost});
  EXPECT_EQ(status()["last_stop"], lost);
}

TEST_F(LeaderStatusTest, AfterATakeOverWhoNeverComesIsNamedWhenTheOthersGoOn) {
  options_.max_nodes = 3;
  LeaderSeed seed = successor();
  seed.last_round->node_count = 3;
  seed.last_round->roster.push_back({join_of(2).identity, "10.0.0.3", 29400});
  lead(seed);
  for (const int node : {1, 2}) {
    Join report = join_of(node);
    report.last_round = seed.last_round;
    report.last_round->node_rank = node;
    report.last_round->workers = false;
    join(node, report);
  }
  pass(60s, {1, 2});
  ASSERT_TRUE(sent<Assign>(1));
  EXPECT_EQ(said(kEventNodeLost),
            Lines{"worker-0 (index 0) did not come back after the leader changed"});
  EXPECT_EQ(status()["last_stop"], said(kEventNodeLost).front());
}

TEST_F(LeaderStatusTest, ANodeOfAnOlderRoundHearsThatItIsOver) {
  run_two();
  Join late = join_of(2);
  late.last_round = report_of(2, 0);
  late.last_round->round = 0;
  late.last_round->workers = true;
  join(2, late);
  ASSERT_TRUE(sent<Stop>(2));
  EXPECT_EQ(sent<Stop>(2)->reason, "round 0 is over: round 1 went on without this node");
}

TEST_F(LeaderStatusTest, AQuorumThatWasMissingIsNoReasonOnceItIsThere) {
  LeaderSeed seed = successor();
  seed.evidence_until.reset();
  lead(seed);
  join_with_report();
  EXPECT_EQ(status()["reasons"]["quorum.missing"],
            "1 of the 2 nodes of round 4 that may still run is here, without the lowest; "
            "worker-0 (index 0) (10.0.0.1:29400) may run where it is not seen");
  Join other = join_of(0);
  other.last_round = own_report();
  other.last_round->node_rank = 0;
  join(0, other);
  EXPECT_FALSE(status()["reasons"].contains("quorum.missing"));
}

// Cut anywhere it would be no JSON.
TEST_F(LeaderStatusTest, OfManyNodesWithLongNamesAsManyAreListedAsFit) {
  options_.max_nodes = 2000;
  lead();
  for (int node = 0; node < 1500; ++node) {
    Join join = join_of(node);
    join.identity.name += std::string(200, 'x');
    join.host = std::string(250, 'y');
    this->join(node, join);
  }
  const nlohmann::json found = status();
  EXPECT_EQ(found["node_total"], 1500);
  EXPECT_GT(found["nodes"].size(), 500u);
  EXPECT_LT(found["nodes"].size(), 1500u);
  const auto text = leader_->status_json(now_);
  const auto decoded = decode(encode(StatusReply{text}));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<StatusReply>(*decoded->message).json, text);
}

TEST_F(LeaderStatusTest, GrowthIsNoReasonOnceTheRoundHasGrown) {
  options_.max_nodes = 3;
  options_.last_call = Duration::zero();
  lead();
  join(0);
  join(1);
  pass(10s, {0, 1});
  for (const int node : {0, 1}) say(node, Started{1});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  policy_.grow_at = now_ + 1s;
  join(2);
  EXPECT_TRUE(status()["reasons"].contains("round.growth"));
  pass(2s, {0, 1, 2});
  for (const int node : {0, 1}) say(node, Stopped{1});
  ASSERT_TRUE(sent<Assign>(2));
  EXPECT_EQ(sent<Assign>(2)->node_count, 3);
  EXPECT_FALSE(status()["reasons"].contains("round.growth"));
}

TEST_F(LeaderStatusTest, AFailureThatIsNotChargedIsToldWithTheReason) {
  Failed fails = failure(1);
  fails.failures.front().rank = 0;
  fails.failures.front().node = "worker-0";
  fails.failures.front().reason = "exit code 5";
  const auto verdict = [this, &fails](bool gone) {
    run_two();
    say(1, Leaving{"SIGTERM", 4000});
    say(0, fails);
    say(1, Stopped{1});
    if (gone) say(1, Goodbye{"got SIGTERM"});
    say(0, Stopped{1});
    return said(kEventRoundVerdict);
  };
  const std::string failed = "rank 0 on worker-0 failed: exit code 5; not charged: ";
  EXPECT_EQ(verdict(false), Lines{failed + "worker-1 (index 1) leaves"});
  EXPECT_EQ(verdict(true), Lines{failed + "worker-1 (index 1) left: got SIGTERM"});
}

// Who did not come with the others ended with the leader before this one.
TEST_F(LeaderStatusTest, SoIsOneOfARoundWhoseEndAnotherLeaderSaw) {
  lead(successor());
  Join own = join_of(1);
  own.last_round = own_report();
  own.last_round->workers = false;
  own.failures = failure(4).failures;
  join(1, own);
  leader_->on_dialed(now_, output<NodeDial>()->dial, DialResult::kRefused);
  pass(30s, {1});
  ASSERT_EQ(said(kEventRoundVerdict).size(), 1u);
  EXPECT_TRUE(said(kEventRoundVerdict)[0].ends_with("not charged: worker-0 (index 0) is missing"));
}

TEST_F(LeaderStatusTest, WhoWasToldToGoSaysWhyTheRoundEnded) {
  run_two();
  say(1, Leaving{"got SIGTERM", 30'000});
  EXPECT_EQ(said(kEventNodeLeaving),
            Lines{"worker-1 (index 1): got SIGTERM, 15 s to save and as long to stop"});
  say(1, Stopped{1});
  EXPECT_EQ(status()["last_stop"], "worker-1 (index 1) leaves: got SIGTERM");
}

}  // namespace
}  // namespace muster::rendezvous
