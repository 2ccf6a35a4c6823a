// A member that a service outside (etcd) elects: the only candidate is whoever leads.
#include <gtest/gtest.h>

#include "rendezvous/member.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace member_output;

class ElectedMemberTest : public testing::Test {
 protected:
  ElectedMemberTest() {
    options_.run_id = "job";
    options_.lease = 10s;
    begin();
  }
  void begin() {
    MemberSetup setup;
    setup.self.identity = {"worker-1", 1, 77};
    setup.self.host = "10.0.0.2";
    setup.candidates = {"who is elected"};
    outputs_.clear();
    member_ = std::make_unique<Member>(now_, options_, setup);
  }
  void welcome() {
    member_->on_connected(now_, 0);
    member_->on_message(now_, 0, Welcome{kControlVersion, "job", false, 16, "worker-0", 10000});
  }
  void run_round(uint64_t round) {
    Assign assign;
    assign.round = round;
    assign.term = 16;
    assign.node_rank = 1;
    assign.node_count = 2;
    member_->on_message(now_, 0, assign);
    member_->on_prepared(now_, round);
    member_->on_started(now_, round);
    ASSERT_EQ(member_->state(), MemberState::kRunning);
    const auto beat = sent<Heartbeat>();
    if (beat) member_->on_message(now_, 0, Ack{beat->sequence, 0});
  }
  template <typename T>
  std::optional<T> output() {
    std::optional<T> found;
    for (MemberOutput& next : member_->take_outputs()) outputs_.push_back(std::move(next));
    for (const MemberOutput& next : outputs_) {
      if (const auto* match = std::get_if<T>(&next)) found = *match;
    }
    return found;
  }
  template <typename T>
  std::optional<T> sent() {
    (void)output<Send>();
    std::optional<T> found;
    for (const MemberOutput& next : outputs_) {
      const auto* send = std::get_if<Send>(&next);
      if (send == nullptr) continue;
      if (const auto* match = std::get_if<T>(&send->message)) found = *match;
    }
    return found;
  }

  JobOptions options_;
  TimePoint now_{1000s};
  std::unique_ptr<Member> member_;
  std::vector<MemberOutput> outputs_;
};

TEST_F(ElectedMemberTest, TheFirstToBeElectedLeadsAtOnce) {
  (void)output<Dial>();
  outputs_.clear();
  member_->on_elected(now_, {7, true});
  ASSERT_TRUE(output<BecomeLeader>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_);
  EXPECT_GT(output<BecomeLeader>()->seed.term, 7 * kMaxCandidates);
  EXPECT_EQ(output<Dial>()->candidate, 0);
  member_->on_connected(now_, 0);
  EXPECT_EQ(sent<Hello>()->term, output<BecomeLeader>()->seed.term);
}

TEST_F(ElectedMemberTest, WhoIsElectedWithoutKnowingTheLastRoundWaitsForALease) {
  member_->on_elected(now_, {7, false});
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 10s);
}

TEST_F(ElectedMemberTest, WhoIsElectedWhileItsWorkersRunKnowsTheLastRound) {
  welcome();
  run_round(3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_ + 7s, {7, false});
  ASSERT_TRUE(output<BecomeLeader>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 7s);
  EXPECT_EQ(output<BecomeLeader>()->seed.last_round->round, 3U);
  EXPECT_EQ(output<BecomeLeader>()->seed.evidence_until, now_ + 10s);
}

TEST_F(ElectedMemberTest, WhoIsElectedAfterItsFenceWaits) {
  welcome();
  run_round(3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_ + 8s, {7, false});
  EXPECT_TRUE(output<KillWorkers>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 18s);
}

TEST_F(ElectedMemberTest, WorkersThatHaveSucceededProveNothingAboutTheLastRound) {
  welcome();
  run_round(3);
  member_->on_succeeded(now_, 3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_, {7, false});
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 10s);
}

TEST_F(ElectedMemberTest, AnElectionThatComesTooLateIsIgnored) {
  welcome();
  member_->on_elected(now_, {7, false});
  EXPECT_FALSE(output<BecomeLeader>());
  begin();
  EXPECT_TRUE(member_->may_lead());
  member_->on_shutdown(now_, 0s, "told to go");
  EXPECT_FALSE(member_->may_lead());
  outputs_.clear();
  member_->on_elected(now_, {7, false});
  EXPECT_FALSE(output<BecomeLeader>());
}

}  // namespace
}  // namespace muster::rendezvous
