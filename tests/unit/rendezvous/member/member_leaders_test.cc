// Who may lead a job whose nodes are read from a file or a service, as a member hears it of others.
#include <gtest/gtest.h>

#include "rendezvous/member/member.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace member_output;

class MemberLeadersTest : public testing::MemberFixture {};

// What each node reads of a file or a service may differ. The leader's list counts.
TEST_F(MemberLeadersTest, WhoJoinsTakesOverTheLeadersOfTheJob) {
  source_ = CandidateSource::kRead;
  begin(1);
  const auto greet = [this](int candidate) {
    outputs_.clear();
    member_->on_connected(now_, candidate);
    Welcome welcome{kControlVersion, "job", false, 16, "worker-7", 10000};
    welcome.leaders = "worker-7,worker-0";
    member_->on_message(now_, candidate, welcome);
  };
  greet(0);
  EXPECT_FALSE(sent<Join>());
  EXPECT_EQ(output<CloseLink>()->candidate, 0);
  EXPECT_EQ(output<TakeLeaders>()->leaders, "worker-7,worker-0");
  EXPECT_FALSE(member_->has_leader());
  ASSERT_TRUE(member_->set_candidates(now_, {"worker-7", "worker-0"}, std::nullopt));
  (void)output<Dial>();
  greet(0);
  EXPECT_FALSE(output<TakeLeaders>());
  EXPECT_TRUE(sent<Join>());
}

// It would lead again, and look for the others in vain, for as long as the job waits (found by the
// simulator).
TEST_F(MemberLeadersTest, ANodeThatMayLeadAloneFollowsAnotherLeaderThatItIsToldOf) {
  MemberSetup setup;
  setup.self.identity = {"worker-1", 1, incarnation_};
  setup.self.candidate = 0;
  setup.candidates = {"worker-1"};
  setup.source = CandidateSource::kRead;
  member_ = std::make_unique<Member>(now_, options_, setup);
  ASSERT_TRUE(output<BecomeLeader>());
  const uint64_t term = output<BecomeLeader>()->seed.term;
  member_->on_connected(now_, 0);
  Welcome own{kControlVersion, "job", false, term, "worker-1", 10000};
  own.incarnation = incarnation_;
  member_->on_message(now_, 0, own);
  ASSERT_TRUE(sent<Join>());
  outputs_.clear();
  Handover handover;
  handover.reason = "another of those who may lead has a leader";
  member_->on_message(now_, 0, handover);
  ASSERT_TRUE(member_->set_candidates(now_, {"worker-7"}, std::nullopt));
  member_->on_tick(now_);
  EXPECT_FALSE(output<BecomeLeader>());
  EXPECT_TRUE(output<Dial>());
  EXPECT_FALSE(member_->has_leader());
}

TEST_F(MemberLeadersTest, AnAgentOfTheJobTellsWhoMayLeadIt) {
  source_ = CandidateSource::kRead;
  const Hello hello{kControlVersion, "job", false, 0, Purpose::kMember, 0};
  const auto told = [&] { return std::get<Refuse>(member_->answer(now_, hello)).leaders; };
  begin(1);
  EXPECT_EQ(told(), "") << "it has only read them";
  welcome();
  EXPECT_EQ(told(), "worker-0,worker-1");
  member_->on_link_closed(now_, 0);
  EXPECT_EQ(told(), "");
  welcome();
  run_round(1);
  member_->on_link_closed(now_, 0);
  EXPECT_EQ(told(), "worker-0,worker-1");
  source_ = CandidateSource::kTold;
  begin(1);
  welcome();
  EXPECT_EQ(told(), "") << "every node was told the same";
}

TEST_F(MemberLeadersTest, WhoKnowsOfNoRoundTakesOverTheLeadersThatAnyAgentTells) {
  const auto takes = [this](CandidateSource source, bool knows, uint64_t followed) {
    source_ = source;
    begin(std::nullopt);
    if (knows) {
      welcome();
      run_round(1);
      member_->on_link_closed(now_, 0);
    }
    (void)output<Dial>();
    outputs_.clear();
    member_->on_connected(now_, 0);
    Refuse refuse{RefuseCode::kNotLeader, "does not lead", followed, {}};
    refuse.leaders = "worker-7";
    member_->on_message(now_, 0, refuse);
    return output<TakeLeaders>().has_value();
  };
  EXPECT_TRUE(takes(CandidateSource::kRead, false, 0));
  EXPECT_TRUE(takes(CandidateSource::kRead, false, 4711));
  EXPECT_FALSE(takes(CandidateSource::kRead, true, 0)) << "its leaders are fixed";
  EXPECT_TRUE(takes(CandidateSource::kRead, true, 4711)) << "that one has a leader";
  EXPECT_FALSE(takes(CandidateSource::kTold, false, 4711));
}

}  // namespace
}  // namespace muster::rendezvous
