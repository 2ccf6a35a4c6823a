// The member's link to its leader: lost, dialled anew, without a quorum; leading and what it tells.
#include <algorithm>

#include "rendezvous/agreement/events.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace member_output;

using MemberTest = testing::MemberFixture;

TEST_F(MemberTest, WhatIsNotHeardOfIsDialledAnewAndTheRoundGoesOn) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(5s);
  outputs_.clear();
  now_ += 1400ms;  // a heartbeat of 0.5 s and 1 s to be suspect
  member_->on_tick(now_);
  EXPECT_FALSE(output<CloseLink>().has_value());
  now_ += 200ms;
  member_->on_tick(now_);
  EXPECT_EQ(output<CloseLink>()->candidate, 0);
  EXPECT_TRUE(output<Dial>().has_value());
  EXPECT_EQ(member_->state(), MemberState::kRunning);
  welcome();
  EXPECT_TRUE(sent<Join>()->last_round->workers);
  EXPECT_EQ(sent<Started>()->round, 1u);  // the first one may have been lost with the link
}

TEST_F(MemberTest, ALeaderThatAnswersWithoutAQuorumIsLeftToHandOver) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(5s);
  outputs_.clear();
  for (int i = 0; i < 20; ++i) {
    now_ += 500ms;
    member_->on_message(now_, 0, Ack{0, 0, true});
  }
  EXPECT_TRUE(output<KillWorkers>().has_value());
  EXPECT_FALSE(output<CloseLink>().has_value());
  now_ += 1s;
  member_->on_message(now_, 0, Ack{0, 0, true});
  EXPECT_TRUE(output<CloseLink>().has_value());
}

TEST_F(MemberTest, ALeaderThatFindsItsQuorumLateGivesAFreshLease) {
  begin(std::nullopt);
  welcome();
  for (int i = 0; i < 18; ++i) {
    now_ += 500ms;
    member_->on_tick(now_);
    member_->on_message(now_, 0, Ack{sent<Heartbeat>()->sequence, 0, true});
  }
  run_round(1);
  now_ += 500ms;
  member_->on_tick(now_);
  EXPECT_FALSE(output<KillWorkers>().has_value());
}

// An agent that begins to lead or ends hangs up on those who asked it.
TEST_F(MemberTest, AnAgentOfTheJobThatHangsUpIsNoNews) {
  const auto warned = [this] {
    (void)output<Log>();
    return std::ranges::any_of(outputs_, [](const MemberOutput& each) {
      const auto* line = std::get_if<Log>(&each);
      return line != nullptr && line->event == kEventLeaderUnusable &&
             line->level >= log::Level::kWarning;
    });
  };
  begin(std::nullopt);
  welcome();
  member_->on_link_closed(now_, 0, "its node leaves");
  (void)output<Dial>();
  member_->on_connected(now_, 1);
  member_->on_link_closed(now_, 1, "10.0.0.2:29400 closed the connection");
  EXPECT_FALSE(warned());
  begin(std::nullopt);  // who never was in the job cannot know what it met
  (void)output<Dial>();
  member_->on_connected(now_, 1);
  member_->on_link_closed(now_, 1, "10.0.0.2:29400 closed the connection");
  EXPECT_TRUE(warned());
}

TEST_F(MemberTest, TheJoinTimeoutBeginsWithTheLossOfALeaderThatServed) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_succeeded(now_, 1);
  beat(90s);  // others work on
  member_->on_link_closed(now_, 0);
  EXPECT_FALSE(output<Exit>().has_value());
  now_ += 60s;
  member_->on_tick(now_);
  EXPECT_TRUE(output<Exit>().has_value());
}

TEST_F(MemberTest, ARefusalProvesAnEndForALeaseAfterTheLastAcknowledgement) {
  begin(1);
  welcome();
  run_round(1);
  beat(5s);
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto first = output<BecomeLeader>();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->seed.evidence_until, now_ + 10s);
  // To have joined a leader of our own that found no quorum is no news of the others.
  member_->on_connected(now_, 1);
  const auto term = first->seed.term;
  member_->on_message(now_, 1, Welcome{kControlVersion, "job", false, term, "worker-1", 10000});
  for (int i = 0; i < 21; ++i) {
    now_ += 500ms;
    member_->on_message(now_, 1, Ack{0, 0, true});
  }
  (void)output<BecomeLeader>();
  outputs_.clear();
  member_->on_message(now_, 1, Handover{{16, 1}, {}, "no quorum"});
  EXPECT_FALSE(output<BecomeLeader>()) << "the other one may have been started again";
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  ASSERT_TRUE(output<BecomeLeader>());
  EXPECT_FALSE(output<BecomeLeader>()->seed.evidence_until.has_value());
}

TEST_F(MemberTest, TheLeaderThatIsLostIsNamedOnce) {
  for (const std::string why : {"worker-0: reset by peer", "reset by peer"}) {
    begin(1);
    welcome();
    outputs_.clear();
    member_->on_link_closed(now_, 0, why);
    std::string said;
    (void)output<Log>();
    for (const MemberOutput& each : outputs_) {
      const auto* log = std::get_if<Log>(&each);
      if (log != nullptr && log->event == "leader.lost") said = log->reason;
    }
    EXPECT_EQ(said, "worker-0: reset by peer");
  }
}

TEST_F(MemberTest, WhoJoinsAnotherLeaderEndsItsOwn) {
  begin(1);
  now_ += 10s;
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead.has_value());
  member_->on_connected(now_, 1);
  const auto term = lead->seed.term;
  member_->on_message(now_, 1, Welcome{kControlVersion, "job", false, term, "worker-1", 10000});
  now_ += 30s;  // frozen
  member_->on_tick(now_);
  member_->on_connected(now_, 0);
  member_->on_message(now_, 0,
                      Welcome{kControlVersion, "job", false, term + 16, "worker-0", 10000});
  EXPECT_TRUE(output<StopLeading>().has_value());
}

// Else a restart of long ago would count as one of just now once another leads.
TEST_F(MemberTest, RestartsGrowOlderWithWhoeverKnowsOfThem) {
  begin(std::nullopt);
  welcome();
  Waiting waiting;
  waiting.last.budget.restarts_charged = 2;
  waiting.last.budget.restart_ages_ms = {0, 70'000};
  member_->on_message(now_, 0, waiting);
  member_->on_link_closed(now_, 0);
  now_ += 2s;
  member_->on_tick(now_);
  welcome();
  EXPECT_EQ(sent<Join>()->budget.restart_ages_ms, (std::vector<int64_t>{2000, 72'000}));
}

TEST_F(MemberTest, ThePauseBeforeARestartRunsOnWhileNobodyLeads) {
  begin(std::nullopt);
  welcome();
  Waiting waiting;
  waiting.last.round = 2;
  waiting.last.budget.restarts_charged = 1;
  waiting.last.budget.judged_round = 2;
  waiting.last.budget.pause_ms = 5000;
  member_->on_message(now_, 0, waiting);
  member_->on_link_closed(now_, 0);
  now_ += 2s;
  member_->on_tick(now_);
  welcome();
  EXPECT_EQ(sent<Join>()->budget.judged_round, 2u);
  EXPECT_EQ(sent<Join>()->budget.pause_ms, 3000);
}

TEST_F(MemberTest, AttemptsToLeadInVainAreToldLessAndLessOften) {
  begin(1);
  welcome();
  run_round(1);
  int loud = 0;
  for (int attempt = 1; attempt <= 8; ++attempt) {
    const int own_or_first = attempt == 1 ? 0 : 1;
    member_->on_link_closed(now_, own_or_first);
    for (const int candidate : {own_or_first, 0})
      member_->on_dial_failed(now_, candidate, DialFailure::kRefused, "refused");
    const auto lead = output<BecomeLeader>();
    ASSERT_TRUE(lead.has_value());
    member_->on_connected(now_, 1);
    member_->on_message(now_, 1,
                        Welcome{kControlVersion, "job", false, lead->seed.term, "worker-1", 10000});
    for (const MemberOutput& next : outputs_) {
      const auto* line = std::get_if<Log>(&next);
      const bool told = line != nullptr && line->level == log::Level::kWarning;
      if (told && line->event == "leader.take_over") ++loud;
    }
    outputs_.clear();
  }
  EXPECT_EQ(loud, 4);  // the 1st, 2nd, 4th and 8th
}

// The next leader may notice a moment later than who asks it; of many nodes it hears less often.
TEST_F(MemberTest, AgentsThatFailTogetherAskAgainAtDifferentTimesAndLater) {
  std::vector<Duration> pauses;
  for (const double jitter : {0.0, 0.99}) {
    begin(std::nullopt, jitter);
    for (int i = 0; i < 8; ++i) {
      for (const int candidate : {0, 1})
        member_->on_dial_failed(now_, candidate, DialFailure::kNoName, "NXDOMAIN");
      pauses.push_back(*member_->next_deadline() - now_);
      now_ += pauses.back();
      member_->on_tick(now_);
    }
  }
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_GT(pauses[8 + i], pauses[i] * 3 / 2) << i;
    EXPECT_LE(pauses[8 + i], 1250ms) << i;
    EXPECT_GE(pauses[i], pauses[i > 0 ? i - 1 : i]) << i;
  }
  EXPECT_GE(pauses[7], pauses[0] * 100);
}

TEST_F(MemberTest, TheNextLeaderIsAskedAgainSoonerInASmallJob) {
  for (const int nodes : {2, 10'000}) {
    options_.max_nodes = nodes;
    begin(std::nullopt);
    member_->on_connected(now_, 0);
    member_->on_connected(now_, 1);
    for (const int candidate : {0, 1})
      member_->on_message(now_, candidate, Refuse{RefuseCode::kNotLeader, "does not lead", {}, {}});
    const Duration pause = *member_->next_deadline() - now_;
    EXPECT_GE(pause, nodes == 2 ? Duration(1ms) : Duration(30ms));
    EXPECT_LE(pause, nodes == 2 ? Duration(3ms) : Duration(70ms));
  }
}

// A job that was begun anew, because nobody knew of it, may have come to a higher number.
TEST_F(MemberTest, OfTwoRoundsTheOneOfTheLaterTermIsRemembered) {
  begin(std::nullopt);
  const auto hear = [this](uint64_t term, uint64_t round) {
    member_->on_connected(now_, 0);
    member_->on_message(now_, 0,
                        Refuse{RefuseCode::kNotLeader, "no", 0, {round, term, 2, false, {}}});
    watch(5s);
  };
  hear(32, 4);
  hear(16, 5);
  hear(48, 3);
  hear(32, 9);
  member_->on_connected(now_, 0);
  member_->on_message(now_, 0, Welcome{kControlVersion, "job", false, 64, "worker-0", 10000});
  ASSERT_TRUE(sent<Join>() && sent<Join>()->last_round);
  EXPECT_EQ(sent<Join>()->last_round->term, 48u);
  EXPECT_EQ(sent<Join>()->last_round->round, 3u);
}

}  // namespace
}  // namespace muster::rendezvous
