#include "rendezvous/etcd/etcd_election.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace etcd_output;

TEST(EtcdTable, EveryPairOnceWithAReasonWhereNothingHappens) {
  std::set<std::pair<EtcdState, EtcdEvent>> seen;
  for (const EtcdTransition& row : etcd_transitions()) {
    EXPECT_TRUE(seen.emplace(row.state, row.event).second);
    EXPECT_EQ(&transition(row.state, row.event), &row);
    EXPECT_FALSE(to_string(row.state).empty() || to_string(row.event).empty());
    EXPECT_FALSE(to_string(row.action).empty());
    const bool idle = row.action == EtcdAction::kNothing || row.action == EtcdAction::kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
  }
  EXPECT_EQ(seen.size(), kEtcdStates * kEtcdEvents);
}

TEST(EtcdTable, WhoLeadsGivesItsLeaseBackBeforeAnythingElse) {
  for (const EtcdTransition& row : etcd_transitions()) {
    if (row.state != EtcdState::kLeading || row.next == EtcdState::kLeading) continue;
    EXPECT_TRUE(row.action == EtcdAction::kResign || row.action == EtcdAction::kStop);
  }
}

TEST(EtcdTable, NothingFollowsClosed) {
  for (const EtcdTransition& row : etcd_transitions()) {
    if (row.state == EtcdState::kClosed) {
      EXPECT_EQ(row.next, EtcdState::kClosed);
    }
  }
}

// What the agent around it may say at any time is no bug in any state.
TEST(EtcdTable, NoWordOfTheAgentIsABug) {
  using enum EtcdEvent;
  for (const EtcdTransition& row : etcd_transitions()) {
    if (row.event == kSeek || row.event == kStepDown || row.event == kEnd) {
      EXPECT_NE(row.action, EtcdAction::kBug);
    }
  }
}

class EtcdElectionTest : public ::testing::Test {
 protected:
  EtcdElectionTest() { election_.set_self(kSelf); }
  template <typename T>
  std::optional<T> output() {
    std::optional<T> found;
    for (EtcdOutput& next : election_.take_outputs()) outputs_.push_back(std::move(next));
    for (const EtcdOutput& next : outputs_) {
      if (const auto* match = std::get_if<T>(&next)) found = *match;
    }
    return found;
  }
  void forget() {
    (void)output<Ask>();
    outputs_.clear();
  }
  EtcdOffice office(bool first = true) const { return {now_, 10s, 11, 12, 7, first}; }
  void lead() {
    election_.seek(now_);
    election_.vacant(now_);
    election_.won(now_, office());
    ASSERT_TRUE(output<Lead>());
    forget();
  }
  void name(int64_t lease) {
    election_.seek(now_);
    election_.named(now_, kOther, lease);
  }
  void pass(Duration time) {
    now_ += time;
    election_.tick(now_);
  }

  const EtcdLeader kSelf{"node-1", {"10.0.0.1", 29400}};
  const EtcdLeader kOther{"node-2", {"10.0.0.2", 29400}};
  TimePoint now_{1000s};
  EtcdElection election_{etcd_times(10s)};
  std::vector<EtcdOutput> outputs_;
};

TEST(EtcdTimes, FollowFromTheLease) {
  const EtcdTimes times = etcd_times(29500ms);
  EXPECT_EQ(times.lease, 30s);
  EXPECT_EQ(times.mark, 90s);
  EXPECT_EQ(times.renewal, 5s);
  EXPECT_EQ(times.patience, 3s);
  EXPECT_EQ(etcd_times(3s).patience, 500ms);
}

TEST(EtcdKeysTest, TwoJobsNeverShareOne) {
  EXPECT_EQ(etcd_keys("/muster", "job-7").leader, "/muster/job-7/leader");
  EXPECT_EQ(etcd_keys("/muster", "job-7").mark, "/muster/job-7/job");
  EXPECT_NE(etcd_keys("/muster", "a").leader, etcd_keys("/muster", "a/leader").mark);
}

TEST_F(EtcdElectionTest, WhoIsNamedIsFollowed) {
  election_.seek(now_);
  EXPECT_TRUE(output<Ask>());
  election_.named(now_, kOther, 5);
  ASSERT_TRUE(output<Follow>());
  EXPECT_EQ(output<Follow>()->leader, kOther);
  EXPECT_EQ(election_.state(), EtcdState::kIdle);
  EXPECT_FALSE(election_.next_deadline());
}

TEST_F(EtcdElectionTest, OneQuestionAtATime) {
  election_.seek(now_);
  forget();
  election_.seek(now_);
  EXPECT_FALSE(output<Ask>());
}

TEST_F(EtcdElectionTest, WhereNobodyLeadsItTriesToBeTheOne) {
  election_.seek(now_);
  election_.vacant(now_);
  EXPECT_TRUE(output<Campaign>());
  election_.won(now_, office());
  ASSERT_TRUE(output<Lead>());
  EXPECT_EQ(output<Lead>()->office.revision, 7);
  EXPECT_TRUE(election_.may_lead(now_));
}

TEST_F(EtcdElectionTest, WhoLosesTheCampaignFollowsTheWinner) {
  election_.seek(now_);
  election_.vacant(now_);
  election_.named(now_, kOther, 5);
  EXPECT_TRUE(output<Follow>());
  EXPECT_FALSE(election_.may_lead(now_));
}

TEST_F(EtcdElectionTest, ACampaignAsLongAsItsLeaseIsLost) {
  election_.seek(now_);
  election_.vacant(now_);
  const EtcdOffice won = office();
  now_ += 8s;
  election_.won(now_, won);
  EXPECT_FALSE(output<Lead>());
  EXPECT_TRUE(output<GiveUp>());
  // Its key is still there, and etcd names us: it is taken away.
  election_.seek(now_);
  election_.named(now_, kSelf, 11);
  ASSERT_TRUE(output<Depose>());
  EXPECT_EQ(output<Depose>()->lease, 11);
}

TEST_F(EtcdElectionTest, TheLeaseIsRenewedAndCountsFromWhenTheRenewalWasSent) {
  lead();
  pass(1600ms);
  EXPECT_FALSE(output<KeepAlive>());
  pass(100ms);
  ASSERT_TRUE(output<KeepAlive>());
  EXPECT_EQ(output<KeepAlive>()->lease, 11);
  EXPECT_EQ(output<KeepAlive>()->mark_lease, 12);
  const TimePoint sent = now_;
  now_ += 3s;
  election_.kept(now_, sent, 10s);
  EXPECT_TRUE(election_.may_lead(sent + 7999ms));
  EXPECT_FALSE(election_.may_lead(sent + 8s));
}

TEST_F(EtcdElectionTest, ItStopsLeadingBeforeItsLeaseCanBeOverElsewhere) {
  lead();
  pass(2s);
  election_.failed(now_, "no response within 1 s");
  EXPECT_EQ(*election_.next_deadline(), now_ + etcd_times(10s).renewal / 4);
  pass(5999ms);
  EXPECT_FALSE(output<StopLeading>());
  pass(1ms);
  ASSERT_TRUE(output<StopLeading>());
  EXPECT_NE(output<StopLeading>()->reason.find("no response within 1 s"), std::string::npos);
  ASSERT_TRUE(output<Resign>());
  EXPECT_EQ(output<Resign>()->lease, 11);
  EXPECT_EQ(output<Resign>()->mark_lease, 0);
  EXPECT_FALSE(election_.may_lead(now_));
}

TEST_F(EtcdElectionTest, AnAgentThatWasFrozenMayNotLeadEvenBeforeItsTick) {
  lead();
  now_ += 60s;
  EXPECT_FALSE(election_.may_lead(now_));
}

TEST_F(EtcdElectionTest, ALeaseThatEtcdForgotEndsItAtOnce) {
  lead();
  pass(2s);
  election_.kept(now_, now_, 0s);
  EXPECT_TRUE(output<StopLeading>());
  // A late answer to another renewal changes nothing.
  election_.kept(now_, now_, 10s);
  EXPECT_FALSE(election_.may_lead(now_));
}

TEST_F(EtcdElectionTest, TheMarkGoesWithTheJob) {
  lead();
  election_.step_down(now_, true);
  ASSERT_TRUE(output<Resign>());
  EXPECT_EQ(output<Resign>()->lease, 11);
  EXPECT_EQ(output<Resign>()->mark_lease, 12);
  election_.end(now_);
  EXPECT_FALSE(output<Closed>());
  election_.resigned(now_);
  EXPECT_TRUE(output<Closed>());
}

TEST_F(EtcdElectionTest, AHandoverLeavesTheMark) {
  lead();
  election_.step_down(now_, false);
  EXPECT_EQ(output<Resign>()->mark_lease, 0);
  election_.seek(now_);
  EXPECT_TRUE(output<GiveUp>());
  election_.resigned(now_);
  election_.seek(now_);
  EXPECT_TRUE(output<Ask>());
}

TEST_F(EtcdElectionTest, TheEndDoesNotWaitForAnEtcdThatIsGone) {
  lead();
  election_.end(now_);
  EXPECT_TRUE(output<Resign>());
  election_.failed(now_, "connection refused");
  EXPECT_TRUE(output<Closed>());
}

TEST_F(EtcdElectionTest, ALeaderThatTookUsInAndNowRefusesIsDeposed) {
  name(5);
  election_.linked();
  name(5);
  election_.refused();
  forget();
  name(5);
  EXPECT_FALSE(output<Follow>());
  ASSERT_TRUE(output<Depose>());
  EXPECT_EQ(output<Depose>()->lease, 5);
  EXPECT_TRUE(output<GiveUp>());
  // Its successor is not.
  name(6);
  EXPECT_TRUE(output<Follow>());
}

TEST_F(EtcdElectionTest, ARefusalOfALeaderThatNeverTookUsInProvesNothing) {
  name(5);
  election_.linked();
  name(6);
  election_.refused();
  forget();
  name(6);
  EXPECT_TRUE(output<Follow>());
  EXPECT_FALSE(output<Depose>());
}

TEST_F(EtcdElectionTest, WhoeverHadOurNameAndAddressBeforeUsIsGone) {
  election_.seek(now_);
  election_.named(now_, kSelf, 5);
  ASSERT_TRUE(output<Depose>());
  EXPECT_EQ(output<Depose>()->lease, 5);
}

// As behind bridges and tunnels, where many pods have one address.
TEST_F(EtcdElectionTest, AnotherNodeWithOurAddressIsNotDeposed) {
  election_.seek(now_);
  election_.named(now_, {"node-2", kSelf.address}, 5);
  EXPECT_TRUE(output<Follow>());
  EXPECT_FALSE(output<Depose>());
}

TEST_F(EtcdElectionTest, WhoEndsDuringItsCampaignGivesBackWhatThatGot) {
  lead();
  election_.step_down(now_, false);
  election_.resigned(now_);
  election_.seek(now_);
  election_.vacant(now_);
  forget();
  election_.end(now_);
  // Not the lease of the office before.
  EXPECT_TRUE(output<Withdraw>());
  EXPECT_FALSE(output<Resign>());
  EXPECT_FALSE(output<Closed>());
  election_.resigned(now_);
  EXPECT_TRUE(output<Closed>());
}

TEST_F(EtcdElectionTest, AKeyWithoutLeaseIsNeverTakenAway) {
  election_.seek(now_);
  election_.named(now_, kSelf, 0);
  EXPECT_FALSE(output<Depose>());
}

TEST_F(EtcdElectionTest, TroubleIsToldOncePerReason) {
  for (const char* reason : {"refused", "refused", "no answer", "no answer"}) {
    election_.seek(now_);
    election_.failed(now_, reason);
  }
  int lines = 0;
  for (const EtcdOutput& next : election_.take_outputs()) {
    const auto* line = std::get_if<Log>(&next);
    if (line != nullptr && line->level == log::Level::kWarning) ++lines;
  }
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace muster::rendezvous
