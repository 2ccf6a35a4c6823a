// What a leader tells of its states for the restart timeline, and what people ask of the job.
#include <algorithm>

#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using leader_output::Entered;
using std::chrono::milliseconds;
using std::chrono::seconds;

class LeaderMomentsTest : public testing::LeaderFixture {
 protected:
  std::vector<Entered> entered() const {
    std::vector<Entered> all;
    for (const LeaderOutput& output : outputs_)
      if (const auto* each = std::get_if<Entered>(&output)) all.push_back(*each);
    return all;
  }
  std::optional<Entered> entered(LeaderState state) const {
    std::optional<Entered> last;
    for (const Entered& each : entered())
      if (each.state == state) last = each;
    return last;
  }
  static JobWish wish(JobCommandKind kind) { return {{kind, "new data"}, "desk"}; }
};

TEST_F(LeaderMomentsTest, AJobGathersIsAssignedAndRuns) {
  lead();
  for (const int node : {0, 1}) join(node);
  for (const int node : {0, 1}) say(node, Started{1});
  std::vector<LeaderState> states;
  for (const Entered& each : entered()) states.push_back(each.state);
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states.front(), LeaderState::kGathering);
  EXPECT_EQ(states.back(), LeaderState::kRunning);
  EXPECT_EQ(entered(LeaderState::kAssigned)->round, 1U);
  EXPECT_EQ(entered(LeaderState::kGathering)->cause, "");
}

TEST_F(LeaderMomentsTest, AFailureHappenedWhenTheWorkerEndedAndNotWhenItWasTold) {
  run_two();
  Failed failed = failure(1);
  failed.failures.front().age_ms = 1500;
  say(1, failed);
  const auto stopping = entered(LeaderState::kStopping);
  ASSERT_TRUE(stopping);
  EXPECT_EQ(stopping->cause, "failure");
  EXPECT_EQ(stopping->round, 1U);
  EXPECT_EQ(stopping->fault, now_ - milliseconds(1500));
  EXPECT_EQ(stopping->known, now_);
  EXPECT_EQ(stopping->at, now_);
}

TEST_F(LeaderMomentsTest, ANodeIsLostSinceItWasHeardLast) {
  run_two();
  say(1, Heartbeat{1, 1});
  const TimePoint heard = now_;
  pass(options_.lease + seconds(1), {0});
  const auto stopping = entered(LeaderState::kStopping);
  ASSERT_TRUE(stopping);
  EXPECT_EQ(stopping->cause, "lost");
  EXPECT_EQ(stopping->fault, heard);
  EXPECT_GE(stopping->known - stopping->fault, options_.lease);
}

TEST_F(LeaderMomentsTest, ANodeThatLeavesIsKnownToLongBeforeItsRoundEnds) {
  run_two();
  const TimePoint said = now_;
  say(1, Leaving{"got SIGTERM", 4000});
  pass(seconds(3), {0, 1});
  const auto stopping = entered(LeaderState::kStopping);
  ASSERT_TRUE(stopping);
  EXPECT_EQ(stopping->cause, "preempted");
  EXPECT_EQ(stopping->fault, said);
  EXPECT_EQ(stopping->known, said);
  EXPECT_GE(stopping->at - said, seconds(2)) << "half of its time was to save";
}

TEST_F(LeaderMomentsTest, TheFirstStepOfARoundIsToldOnce) {
  run_two();
  outputs_.clear();
  say(1, Heartbeat{1, 1, 7});
  ASSERT_TRUE(output<leader_output::Moved>());
  EXPECT_EQ(output<leader_output::Moved>()->round, 1U);
  outputs_.clear();
  say(1, Heartbeat{2, 1, 8});
  EXPECT_FALSE(output<leader_output::Moved>());
}

TEST_F(LeaderMomentsTest, AStepBeforeAllAreStartedIsToldWhenTheRoundRuns) {
  lead();
  for (const int node : {0, 1}) join(node);
  say(0, Started{1});
  say(0, Heartbeat{1, 1, 7});
  EXPECT_FALSE(output<leader_output::Moved>());
  say(1, Started{1});
  ASSERT_TRUE(output<leader_output::Moved>());
  outputs_.clear();
  say(0, Heartbeat{2, 1, 8});
  EXPECT_FALSE(output<leader_output::Moved>());
}

TEST_F(LeaderMomentsTest, AStepOfARoundThatIsBeingStoppedIsNotTold) {
  run_two();
  say(1, failure(1));
  ASSERT_TRUE(entered(LeaderState::kStopping));
  say(0, Heartbeat{1, 1, 7});
  EXPECT_FALSE(output<leader_output::Moved>());
}

TEST_F(LeaderMomentsTest, ALeaderThatTakesOverTellsThatTheRoundEndedWithTheOneBefore) {
  LeaderSeed seed = seed_of(32, 1);
  seed.last_round = report_of(1, 4);
  seed.leader_heard = now_ - seconds(3);
  lead(std::move(seed));
  const auto all = entered();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().cause, kCauseLeader);
  EXPECT_EQ(all.front().round, 4U);
  EXPECT_EQ(all.front().fault, now_ - seconds(3));
}

TEST_F(LeaderMomentsTest, ARestartThatIsAskedForEndsTheRoundAndChargesNobody) {
  run_two();
  outputs_.clear();
  ASSERT_TRUE(leader_->obey(now_, wish(JobCommandKind::kRestart)));
  turn();
  EXPECT_EQ(entered(LeaderState::kStopping)->cause, "asked");
  ASSERT_TRUE(sent<Stop>(0));
  EXPECT_EQ(sent<Stop>(0)->reason, "a restart was asked for by 'desk': new data");
  // A worker that fails because another one was stopped first is explained.
  say(1, failure(1));
  for (const int node : {0, 1}) say(node, Stopped{1});
  pass(seconds(10), {0, 1});
  ASSERT_TRUE(sent<Assign>(0));
  EXPECT_EQ(sent<Assign>(0)->round, 2U);
  EXPECT_EQ(policy_.judged, 0U);
}

TEST_F(LeaderMomentsTest, WithoutARoundThereIsNothingToStartAgain) {
  lead();
  join(0);
  const Status obeyed = leader_->obey(now_, wish(JobCommandKind::kRestart));
  ASSERT_FALSE(obeyed);
  EXPECT_EQ(obeyed.error().code, Code::kPeer);
}

TEST_F(LeaderMomentsTest, TheEndNeedsNoQuorumAndMayBeAskedForTwice) {
  LeaderSeed seed = seed_of(32, 1);
  seed.last_round = report_of(1, 4);
  lead(std::move(seed));
  EXPECT_FALSE(leader_->obey(now_, wish(JobCommandKind::kRestart)));
  for (int times = 0; times < 2; ++times)
    EXPECT_TRUE(leader_->obey(now_, wish(JobCommandKind::kStop))) << times;
  join(0);
  EXPECT_TRUE(sent<Quit>(0));
}

TEST_F(LeaderMomentsTest, TheEndIsToldToAllNodesAndToWhoComesLater) {
  run_two();
  outputs_.clear();
  ASSERT_TRUE(leader_->obey(now_, wish(JobCommandKind::kStop)));
  turn();
  for (const int node : {0, 1}) {
    ASSERT_TRUE(sent<Quit>(node)) << node;
    EXPECT_EQ(sent<Quit>(node)->reason, "the end was asked for by 'desk': new data");
  }
  outputs_.clear();
  leader_->on_link_closed(now_, link_of(1));
  join(1);
  EXPECT_TRUE(sent<Quit>(1));
}

}  // namespace
}  // namespace muster::rendezvous
