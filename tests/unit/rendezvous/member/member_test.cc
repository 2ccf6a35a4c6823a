#include "rendezvous/member/member.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rendezvous/agreement/events.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace member_output;

using MemberTest = testing::MemberFixture;

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

TEST_F(MemberTest, PutsTheListOfALargeRoundTogether) {
  begin(1);
  welcome();
  const RosterEntry node{{"worker", {}, 1}, "10.0.0.7", 29400};
  const RosterPart part{1, 16, std::vector<RosterEntry>(kMaxRosterPart, node)};
  member_->on_message(now_, 0, part);
  member_->on_message(now_, 0, part);
  Assign assign;
  assign.round = 1;
  assign.term = 16;
  assign.node_rank = 1;
  assign.node_count = 2 * static_cast<int>(kMaxRosterPart);
  member_->on_message(now_, 0, assign);
  EXPECT_EQ(output<PrepareRound>()->assign.roster.size(), 2 * kMaxRosterPart);
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

TEST_F(MemberTest, AFurtherFailureIsToldAlone) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  for (const int rank : {4, 5}) {
    Failure failure;
    failure.rank = rank;
    outputs_.clear();
    member_->on_failed(now_, 1, {failure});
    ASSERT_EQ(sent<Failed>()->failures.size(), 1u);
    EXPECT_EQ(sent<Failed>()->failures[0].rank, rank);
  }
}

// Else the leader would take a failure after progress for one without.
TEST_F(MemberTest, TheLastStepIsToldBeforeTheFailureThatFollows) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(2s);
  outputs_.clear();
  member_->on_progress(now_, 1, 6);
  ASSERT_TRUE(sent<Heartbeat>()) << "the first step ends an interruption";
  EXPECT_EQ(sent<Heartbeat>()->step, 6);
  outputs_.clear();
  member_->on_progress(now_, 1, 7);
  EXPECT_FALSE(sent<Heartbeat>());  // its time has not come
  member_->on_failed(now_, 1, {Failure{}});
  (void)sent<Failed>();
  std::vector<std::string_view> order;
  for (const MemberOutput& next : outputs_) {
    const auto* send = std::get_if<member_output::Send>(&next);
    if (send == nullptr) continue;
    if (const auto* beat = std::get_if<Heartbeat>(&send->message)) {
      EXPECT_EQ(beat->step, 7);
      order.emplace_back("heartbeat");
    }
    if (std::holds_alternative<Failed>(send->message)) order.emplace_back("failed");
  }
  EXPECT_EQ(order, (std::vector<std::string_view>{"heartbeat", "failed"}));
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
  member_->on_message(now_, 1, Refuse{RefuseCode::kNotLeader, "does not lead", 0, {}});
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead.has_value());
  EXPECT_EQ(lead->seed.term % kMaxCandidates, 0u);
  EXPECT_FALSE(lead->seed.uncertain);
}

TEST_F(MemberTest, AFreshCandidateLearnsFromOthersThatTheJobIsUnderWay) {
  begin(0);
  member_->on_connected(now_, 1);
  const LastRound last{7, 33, 4, true, {}};
  member_->on_message(now_, 1, Refuse{RefuseCode::kNotLeader, "does not lead", 0, last});
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
  watch(10s);
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
  watch(10s);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  (void)member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  watch(9s);
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

// The leader has logged it, on its own node beside this member.
TEST_F(MemberTest, ThatAnotherNodeLeavesIsPassedOnAndNotLogged) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  (void)output<member_output::Log>();
  outputs_.clear();
  member_->on_message(now_, 0, Notice{1, "worker-3", 4000});
  EXPECT_EQ(output<NotifyWorkers>()->leaver, "worker-3");
  EXPECT_FALSE(output<member_output::Log>().has_value());
}

TEST_F(MemberTest, AnotherJobOnTheEndpointEndsItWithOneLine) {
  begin(std::nullopt);
  member_->on_connected(now_, 0);
  member_->on_message(now_, 0, Refuse{RefuseCode::kRunId, "run id 'a' here, 'b' there", {}, {}});
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 78);
  EXPECT_EQ(exit->outcome.reason, "run id 'a' here, 'b' there (worker-0)");
}

TEST_F(MemberTest, ANodeWhoseJoinIsRefusedBeforeItsFirstRoundDoesNotComeAgain) {
  begin(std::nullopt);
  welcome();
  member_->on_message(now_, 0, Refuse{RefuseCode::kSettings, "a job has one launcher", {}, {}});
  const auto exit = output<member_output::Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 78);
  EXPECT_EQ(exit->outcome.reason, "a job has one launcher (worker-0)");
}

TEST_F(MemberTest, WhoDoesNotLeadRefusesStrangersTooAndSaysSoOnce) {
  begin(1);
  const Hello stranger{kControlVersion, "other", false, 0, {}, {}, "worker-9", {}};
  for (int i = 0; i < 2; ++i) {
    const Message answer = member_->answer(now_, stranger);
    ASSERT_TRUE(std::holds_alternative<Refuse>(answer));
    EXPECT_EQ(std::get<Refuse>(answer).code, RefuseCode::kRunId);
  }
  (void)output<Exit>();
  EXPECT_EQ(std::count_if(outputs_.begin(), outputs_.end(),
                          [](const MemberOutput& next) {
                            const auto* line = std::get_if<member_output::Log>(&next);
                            return line != nullptr && line->event == kEventNodeRefused;
                          }),
            1);
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

TEST_F(MemberTest, AStopOfAnEarlierRoundComesLateAndMeansNothing) {
  begin(1);
  welcome();
  run_round(2);
  member_->on_message(now_, 0, Stop{1, 0, "late"});
  EXPECT_EQ(member_->state(), MemberState::kRunning);
  member_->on_failed(now_, 2, {Failure{}});
  member_->on_gone(now_, 2);
  EXPECT_EQ(sent<Stopped>()->round, 2U);
}

TEST_F(MemberTest, ANodeThatIsToldToGoAfterItsWorkersSucceededHasSucceeded) {
  const std::vector<std::optional<Message>> words = {
      std::nullopt, Stop{1, 0, "a worker of another node failed"},
      Waiting{false, {1, 16, 2, true, {}}, "after another leader, which had stopped it"}};
  for (const auto& word : words) {
    const bool stopped = word.has_value();
    outputs_.clear();
    begin(1);
    welcome();
    run_round(1);
    member_->on_succeeded(now_, 1);
    if (word) member_->on_message(now_, 0, *word);
    member_->on_shutdown(now_, 30s, "got SIGTERM");
    const auto exit = output<Exit>();
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->outcome.exit_code, stopped ? 143 : 0);
    EXPECT_EQ(exit->outcome.success, !stopped);
    EXPECT_EQ(exit->outcome.preempted, stopped);
    EXPECT_EQ(sent<Goodbye>()->reason, "got SIGTERM");
  }
}

// Whether they had heard of it nobody knows.
TEST_F(MemberTest, ANodeWhoseWorkersSucceedAfterItWasToldToGoLeavesAtOnce) {
  for (const bool led : {true, false}) {
    outputs_.clear();
    begin(1);
    welcome();
    run_round(1);
    member_->on_shutdown(now_, 30s, "got SIGTERM");
    if (!led) member_->on_link_closed(now_, 0, "closed the connection");
    member_->on_succeeded(now_, 1);
    EXPECT_EQ(sent<Succeeded>().has_value(), led);
    EXPECT_EQ(sent<Goodbye>().has_value(), led);
    const auto exit = output<Exit>();
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->outcome.exit_code, 143);
    EXPECT_TRUE(exit->outcome.preempted);
  }
}

TEST_F(MemberTest, WhoHasAnotherSecretIsTheReasonThatNobodyLeads) {
  begin(1);
  member_->on_misfit("10.0.0.9:4711: no job secret there, but one here");
  member_->on_misfit("another one");
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  now_ += 60s;
  member_->on_tick(now_);
  const auto exit = output<Exit>();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->outcome.exit_code, 78);
  EXPECT_NE(exit->outcome.reason.find("; refused: 10.0.0.9:4711: no job secret there"),
            std::string::npos);
}

TEST_F(MemberTest, NonsenseFromTheLeaderHurtsNothing) {
  begin(std::nullopt);
  welcome();
  const std::vector<Message> messages = {Hello{},   Join{},   Started{},     Stop{9, 0, ""},
                                         Waiting{}, Notice{}, StatusReply{}, Ack{99, 99}};
  for (const Message& message : messages) member_->on_message(now_, 0, message);
  run_round(1);
  for (const Message& message : messages) member_->on_message(now_, 0, message);
  EXPECT_EQ(member_->state(), MemberState::kRunning);
}

// Ranks of other nodes wait for one that ended at once: it has to be told to them.
TEST_F(MemberTest, ANodeWhoseWorkersHaveSucceededExchangesOn) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_contribution(now_, 1, 0, "size");
  member_->on_succeeded(now_, 1);
  member_->on_message(now_, 0,
                      Exchanged{1, 0, 0, std::string("\0\0\0\0\0\0\0\4size", 12), true, ""});
  ASSERT_TRUE(output<member_output::ExchangeDone>().has_value());
  member_->on_contribution(now_, 1, 1, "left");
  EXPECT_EQ(sent<Contribution>()->data, "left");
  outputs_.clear();
  member_->on_contribution(now_, 2, 0, "of another round");
  EXPECT_FALSE(sent<Contribution>());
}

TEST_F(MemberTest, AnExchangeIsGivenAgainToTheNextLinkAndAnsweredOnce) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_contribution(now_, 7, 0, "of another round");
  EXPECT_FALSE(sent<Contribution>());
  member_->on_contribution(now_, 1, 0, "mine");
  ASSERT_TRUE(sent<Contribution>());
  EXPECT_EQ(sent<Contribution>()->data, "mine");
  outputs_.clear();
  member_->on_link_closed(now_, 0);
  welcome();
  ASSERT_TRUE(sent<Contribution>());
  EXPECT_EQ(sent<Contribution>()->data, "mine");
  const Exchanged answer{1, 0, 0, std::string("\0\0\0\0\0\0\0\4mine", 12), true, ""};
  member_->on_message(now_, 0, answer);
  const auto all = output<member_output::ExchangeDone>();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->sequence, 0u);
  EXPECT_EQ(*all->contributions, (std::vector<std::string>{"", "mine"}));
  outputs_.clear();
  member_->on_message(now_, 0, answer);
  EXPECT_FALSE(output<member_output::ExchangeDone>());
}

// A link makes the parts of an answer one by one, and what is said meanwhile comes between them.
TEST_F(MemberTest, WhatComesBetweenThePartsOfAnAnswerChangesNothing) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_contribution(now_, 1, 0, "mine");
  member_->on_message(now_, 0, Exchanged{1, 0, 0, std::string("\0\0\0\0\0", 5), false, ""});
  beat(std::chrono::seconds(2));
  member_->on_message(now_, 0, Notice{1, "worker-0", 1000});
  member_->on_message(now_, 0, Exchanged{1, 0, 5, std::string("\0\0\4mine", 7), true, ""});
  ASSERT_TRUE(output<member_output::ExchangeDone>());
  EXPECT_EQ(*output<member_output::ExchangeDone>()->contributions,
            (std::vector<std::string>{"", "mine"}));
}

TEST_F(MemberTest, WhatIsLeftOfAnAnswerWhenTheNextRoundBeginsIsNothing) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_contribution(now_, 1, 0, "old");
  member_->on_message(now_, 0, Exchanged{1, 0, 0, std::string("\0\0\0\0\0", 5), false, ""});
  member_->on_message(now_, 0, Stop{1, 0, "another node failed"});
  member_->on_gone(now_, 1);
  run_round(2);
  member_->on_contribution(now_, 2, 0, "new");
  const Exchanged left{1, 0, 5, std::string("\0\0\3old", 6), true, ""};
  member_->on_message(now_, 0, left);
  EXPECT_FALSE(output<member_output::ExchangeDone>());
  member_->on_message(now_, 0, Exchanged{2, 0, 0, std::string("\0\0\0\0\0", 5), false, ""});
  member_->on_message(now_, 0, left);
  member_->on_message(now_, 0, Exchanged{2, 0, 5, std::string("\0\0\3new", 6), true, ""});
  const auto all = output<member_output::ExchangeDone>();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->round, 2U);
  EXPECT_EQ(*all->contributions, (std::vector<std::string>{"", "new"}));
}

}  // namespace
}  // namespace muster::rendezvous
