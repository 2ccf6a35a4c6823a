#include "rendezvous/member.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace member_output;

class MemberTest : public testing::Test {
 protected:
  MemberTest() {
    options_.run_id = "job";
    options_.lease = 10s;
    options_.join_timeout = 60s;
  }
  // The node 1 of a job whose candidates are nodes 0 and 1, or neither.
  void begin(std::optional<int> candidate) {
    MemberSetup setup;
    setup.self.identity = {"worker-1", 1, 77};
    setup.self.host = "10.0.0.2";
    setup.self.candidate = candidate;
    setup.candidates = {"worker-0", "worker-1"};
    member_ = std::make_unique<Member>(now_, options_, setup);
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
  }
  void beat(Duration time) {
    const TimePoint until = now_ + time;
    while (now_ < until) {
      now_ += 500ms;
      member_->on_tick(now_);
      const auto heartbeat = sent<Heartbeat>();
      if (heartbeat) member_->on_message(now_, 0, Ack{heartbeat->sequence, 0});
    }
  }

  JobOptions options_;
  TimePoint now_{1000s};
  std::unique_ptr<Member> member_;
  std::vector<MemberOutput> outputs_;
};

TEST_F(MemberTest, AnotherListOfCandidatesIsAskedFromTheStart) {
  begin(std::nullopt);
  (void)output<Dial>();
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  EXPECT_TRUE(member_->set_candidates(now_, {"worker-7", "worker-8", "worker-1"}, 2));
  outputs_.clear();
  const auto dialled = output<Dial>();
  ASSERT_TRUE(dialled.has_value());
  EXPECT_EQ(dialled->candidate, 1);  // the last one that is not the own
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  member_->on_dial_failed(now_, 1, DialFailure::kNoName, "NXDOMAIN");
  now_ += options_.lease;
  member_->on_tick(now_);
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  member_->on_dial_failed(now_, 1, DialFailure::kNoName, "NXDOMAIN");
  EXPECT_TRUE(output<BecomeLeader>().has_value());
  EXPECT_FALSE(member_->set_candidates(now_, {"worker-0"}, std::nullopt));
}

TEST_F(MemberTest, TheListStaysWhileALeaderIsKnown) {
  begin(std::nullopt);
  welcome();
  EXPECT_FALSE(member_->set_candidates(now_, {"worker-7"}, std::nullopt));
}

TEST_F(MemberTest, JoinsAndReportsItsRound) {
  begin(std::nullopt);
  EXPECT_TRUE(output<Dial>().has_value());
  welcome();
  EXPECT_EQ(sent<Join>()->identity.name, "worker-1");
  run_round(3);
  EXPECT_EQ(sent<Started>()->round, 3u);
  member_->on_succeeded(now_, 3);
  EXPECT_EQ(sent<Succeeded>()->round, 3u);
  member_->on_message(now_, 0, Finish{true, 0, "all succeeded", std::nullopt});
  EXPECT_TRUE(output<Exit>()->outcome.success);
}

TEST_F(MemberTest, KillsItsWorkersAfterFourFifthsOfALeaseWithoutAcknowledgement) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(5s);
  now_ += 7900ms;
  member_->on_tick(now_);
  EXPECT_FALSE(output<KillWorkers>().has_value());
  now_ += 200ms;
  member_->on_tick(now_);
  EXPECT_TRUE(output<KillWorkers>().has_value());
}

TEST_F(MemberTest, AnswersToOldHeartbeatsDoNotRenewTheLeaseFromNow) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  now_ += 500ms;
  member_->on_tick(now_);
  const auto old = sent<Heartbeat>();
  now_ += 7s;
  member_->on_message(now_, 0, Ack{old->sequence, 0});
  now_ += 1s;
  member_->on_tick(now_);
  EXPECT_TRUE(output<KillWorkers>().has_value());
}

TEST_F(MemberTest, AFrozenAgentFencesBeforeItHearsAnything) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  now_ += 1h;
  outputs_.clear();
  member_->on_message(now_, 0, Ack{1, 0});
  EXPECT_TRUE(output<KillWorkers>().has_value());
}

TEST_F(MemberTest, ALostLinkIsResumedWithinTheLease) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_link_closed(now_, 0);
  EXPECT_EQ(member_->state(), MemberState::kRunning);
  now_ += 1s;
  member_->on_tick(now_);
  outputs_.clear();
  welcome();
  const auto join = sent<Join>();
  ASSERT_TRUE(join.has_value());
  EXPECT_TRUE(join->last_round->workers);
  EXPECT_EQ(join->last_round->node_rank, 1);
}

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
  member_->on_message(now_, 1, Handover{1, {}, "no quorum"});
  EXPECT_FALSE(output<BecomeLeader>()->seed.evidence_until.has_value());
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
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
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

TEST_F(MemberTest, AFailureIsToldAgainToTheNextLeader) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  Failure failure;
  failure.exit_code = 3;
  member_->on_link_closed(now_, 0);
  member_->on_failed(now_, 1, {failure});
  now_ += 2s;
  member_->on_gone(now_, 1);
  welcome();
  const auto join = sent<Join>();
  ASSERT_EQ(join->failures.size(), 1u);
  EXPECT_EQ(join->failures[0].age_ms, 2000);
}

TEST_F(MemberTest, StopsWithTheGraceOfTheLeaderAndSaysWhenNothingIsLeft) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_message(now_, 0, Stop{1, 1500, "a worker failed"});
  EXPECT_EQ(output<StopWorkers>()->grace, 1500ms);
  EXPECT_FALSE(sent<Stopped>().has_value());
  member_->on_gone(now_, 1);
  EXPECT_EQ(sent<Stopped>()->round, 1u);
  EXPECT_EQ(member_->state(), MemberState::kJoining);
}

TEST_F(MemberTest, TheFirstCandidateLeadsAtOnceWhenTheOtherDoesNot) {
  begin(0);
  member_->on_connected(now_, 1);
  EXPECT_FALSE(output<BecomeLeader>().has_value());
  member_->on_message(now_, 1, Refuse{RefuseCode::kNotLeader, "does not lead", std::nullopt, {}});
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead.has_value());
  EXPECT_EQ(lead->seed.term % kMaxCandidates, 0u);
  EXPECT_FALSE(lead->seed.uncertain);
}

TEST_F(MemberTest, AFreshCandidateLearnsFromOthersThatTheJobIsUnderWay) {
  begin(0);
  member_->on_connected(now_, 1);
  const LastRound last{7, 33, 4, true, {}};
  member_->on_message(now_, 1, Refuse{RefuseCode::kNotLeader, "does not lead", std::nullopt, last});
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead.has_value());
  EXPECT_EQ(lead->seed.last_round->round, 7u);
  EXPECT_EQ(lead->seed.last_round->node_count, 4);
  EXPECT_GT(lead->seed.term, 33u);
}

TEST_F(MemberTest, TheSecondTakesOverWhenTheLeaderRefusesConnections) {
  begin(1);
  welcome();
  run_round(1);
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead.has_value());
  EXPECT_EQ(lead->seed.last_round->round, 1u);
  EXPECT_GT(lead->seed.term, 16u);
}

TEST_F(MemberTest, TheSecondWaitsALeaseForASilentLeader) {
  begin(1);
  welcome();
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "no answer");
  EXPECT_FALSE(output<BecomeLeader>().has_value());
  now_ += 10s;
  member_->on_tick(now_);
  EXPECT_TRUE(output<BecomeLeader>().has_value());
}

TEST_F(MemberTest, ALateFirstCandidateIsAskedOnceMoreBeforeTheSecondLeads) {
  begin(1);
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  now_ += 10s;
  member_->on_tick(now_);
  EXPECT_FALSE(output<BecomeLeader>().has_value());
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  EXPECT_TRUE(output<BecomeLeader>().has_value());
}

TEST_F(MemberTest, AnEarlierCandidateThatAsksWillLead) {
  begin(1);
  now_ += 10s;
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  (void)member_->answer(Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
  member_->on_tick(now_ + 10s);
  EXPECT_FALSE(output<BecomeLeader>().has_value());
}

TEST_F(MemberTest, ShutdownLeavesInOrderAndASecondOneAtOnce) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_shutdown(now_, 30s, "SIGTERM");
  EXPECT_EQ(sent<Leaving>()->grace_ms, 30000);
  EXPECT_TRUE(output<NotifyWorkers>()->leaver_is_self);
  EXPECT_FALSE(output<KillWorkers>().has_value());
  member_->on_shutdown(now_, 30s, "SIGTERM");
  EXPECT_TRUE(output<KillWorkers>().has_value());
  member_->on_gone(now_, 1);
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->outcome.preempted);
  EXPECT_EQ(exit->outcome.exit_code, 143);
}

TEST_F(MemberTest, AnotherJobOnTheEndpointEndsItWithOneLine) {
  begin(std::nullopt);
  member_->on_connected(now_, 0);
  member_->on_message(now_, 0, Refuse{RefuseCode::kRunId, "run id 'a' here, 'b' there", {}, {}});
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 78);
  EXPECT_EQ(exit->outcome.reason, "run id 'a' here, 'b' there");
}

TEST_F(MemberTest, AnotherSecretEndsItWithOneLine) {
  begin(std::nullopt);
  member_->on_dial_failed(now_, 0, DialFailure::kRejected, "worker-0: another job secret");
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 78);
  EXPECT_EQ(exit->outcome.reason, "worker-0: another job secret");
}

TEST_F(MemberTest, NoLeaderWithinTheJoinTimeoutNamesTheCandidates) {
  begin(std::nullopt);
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  member_->on_dial_failed(now_, 1, DialFailure::kRefused, "refused");
  now_ += 60s;
  member_->on_tick(now_);
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 69);
  EXPECT_EQ(exit->outcome.reason, "no leader within 60 s: worker-0 (NXDOMAIN), worker-1 (refused)");
}

TEST_F(MemberTest, NonsenseFromTheLeaderHurtsNothing) {
  begin(std::nullopt);
  welcome();
  const std::vector<Message> messages = {Hello{},        Join{},        Started{},
                                         Stop{9, 0, ""}, Fence{"x"},    Waiting{},
                                         Notice{},       StatusReply{}, Ack{99, 99}};
  for (const Message& message : messages) member_->on_message(now_, 0, message);
  run_round(1);
  for (const Message& message : messages) member_->on_message(now_, 0, message);
  EXPECT_EQ(member_->state(), MemberState::kStopping);  // by the Fence
}

}  // namespace
}  // namespace muster::rendezvous
