// Jobs in which a worker decides: with its success the job has succeeded (JobDecision).
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

class DecisionTest : public testing::LeaderFixture {
 protected:
  [[nodiscard]] bool succeeded(int node) {
    const auto finish = sent<Finish>(node);
    return finish && finish->success && finish->reason == "the chief (rank 0) succeeded";
  }
  static Decided decided(bool stops) { return {1, {stops, "the chief (rank 0) succeeded"}}; }
};

TEST_F(DecisionTest, TheOthersAreStoppedIfTheyNeverEnd) {
  run_two();
  say(0, decided(true));
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_TRUE(succeeded(0));
  EXPECT_TRUE(succeeded(1));
}

TEST_F(DecisionTest, TheOthersFinishAndMayFail) {
  run_two();
  say(0, decided(false));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  say(0, Succeeded{1});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning) << "node 1 is at work";
  say(1, failure(1));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning) << "it stops its other workers";
  say(1, Stopped{1});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_TRUE(succeeded(1));
}

TEST_F(DecisionTest, ANodeThatIsLostThenIsNotMissed) {
  run_two();
  say(0, decided(false));
  say(0, Succeeded{1});
  leader_->on_link_closed(now_, link_of(1));
  pass(options_.lease + 5s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_TRUE(succeeded(0));
}

TEST_F(DecisionTest, WorkersThatSaveForALeavingNodeAreNotAwaitedForEver) {
  run_two();
  say(0, decided(false));
  say(1, Leaving{"SIGTERM", 2000});
  pass(3s, {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  for (const int node : {0, 1}) say(node, Stopped{1});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_TRUE(succeeded(0));
}

TEST_F(DecisionTest, ANodeThatHadNoLinkIsToldWhenItIsBack) {
  run_two();
  leader_->on_link_closed(now_, link_of(1));
  say(0, decided(false));
  outputs_.clear();
  Join back = join_of(1);
  back.last_round = report_of(1, 1);
  join(1, back);
  ASSERT_TRUE(sent<Decided>(1));
  leader_->on_link_closed(now_, link_of(1));
  outputs_.clear();
  back.last_round->decision = rendezvous::JobDecision{false, "the chief (rank 0) succeeded"};
  join(1, back);
  EXPECT_FALSE(sent<Decided>(1)) << "it knows";
}

TEST_F(DecisionTest, OfAnotherRoundItMeansNothing) {
  run_two();
  Decided late = decided(true);
  late.round = 7;
  say(0, late);
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  say(1, failure(1));
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(DecisionTest, TheOtherNodesKnowOfItBeforeItsOwnLeavesThatLeadsThem) {
  run_two();
  say(0, decided(false));
  say(0, Succeeded{1});
  ASSERT_TRUE(sent<Decided>(1));
  EXPECT_EQ(sent<Decided>(1)->round, 1U);
  EXPECT_EQ(sent<Decided>(1)->decision.reason, "the chief (rank 0) succeeded");
  EXPECT_FALSE(sent<Decided>(0)) << "it knows";
  say(0, Goodbye{"got SIGTERM"});
  EXPECT_TRUE(sent<Handover>(1));
}

TEST_F(DecisionTest, TheNextLeaderHearsOfItFromTheNode) {
  LeaderSeed seed = seed_of(17, 0);
  seed.last_round = report_of(0, 1);
  lead(seed);
  Join other = join_of(1);
  other.last_round = report_of(1, 1);
  other.last_round->decision = JobDecision{true, "the chief (rank 0) succeeded"};
  Join own = join_of(0);
  own.last_round = seed.last_round;
  join(0, own);
  join(1, other);
  pass(3s, {0, 1});
  for (const int node : {0, 1}) say(node, Stopped{1});
  pass(options_.lease + 1s, {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_TRUE(succeeded(1));
}

}  // namespace
}  // namespace muster::rendezvous
