// A member as one of those who may lead (rendezvous/member/member_lead.cc).
#include <gtest/gtest.h>

#include "rendezvous/member/member.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using namespace member_output;

class MemberLeadTest : public testing::MemberFixture {
 protected:
  // Node 1 does, after the other candidate did not come, and has joined.
  void lead() {
    begin(1);
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    now_ += options_.lease;
    member_->on_tick(now_);
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    ASSERT_TRUE(output<BecomeLeader>());
    const uint64_t term = output<BecomeLeader>()->seed.term;
    member_->on_connected(now_, 1);
    member_->on_message(now_, 1, Welcome{kControlVersion, "job", false, term, "worker-1", 10000});
    (void)output<Dial>();
    outputs_.clear();
  }
};

TEST_F(MemberLeadTest, AnotherListOfCandidatesIsAskedFromTheStart) {
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
  EXPECT_TRUE(member_->set_candidates(now_, {"worker-0"}, std::nullopt));
  EXPECT_TRUE(output<StopLeading>()) << "nobody has joined it yet";
  EXPECT_FALSE(member_->has_leader());
}

// An agent that was started again leads another job than before; and two nodes that have different
// lists may have the same number in them.
TEST_F(MemberLeadTest, TheSamePlaceHasDifferentTerms) {
  const auto term_of = [this](uint64_t incarnation) {
    incarnation_ = incarnation;
    begin(1);
    outputs_.clear();
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    now_ += options_.lease;
    member_->on_tick(now_);
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    const auto lead = output<BecomeLeader>();
    EXPECT_TRUE(lead);
    return lead ? lead->seed.term : 0;
  };
  EXPECT_NE(term_of(7), term_of(8));
  EXPECT_EQ(term_of(7) % kMaxCandidates, 1U);
}

TEST_F(MemberLeadTest, ASizeThatSomebodyAskedForIsToldToTheNextLeader) {
  begin(1);
  welcome();
  EXPECT_EQ(sent<Join>()->size, std::nullopt);
  Ack ack{1, 0};
  ack.size = SizeRequest{2, 4, 16};
  member_->on_message(now_, 0, ack);
  member_->on_message(now_, 0, Ack{2, 0});
  member_->on_link_closed(now_, 0);
  welcome();
  ASSERT_TRUE(sent<Join>()->size);
  EXPECT_EQ(sent<Join>()->size->nodes, 4);
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  EXPECT_EQ(lead->seed.size->number, 2U);
}

TEST_F(MemberLeadTest, WhoIsInBothListsIsSilentSinceItWasHeard) {
  begin(1);
  now_ += options_.lease / 2;
  ASSERT_TRUE(member_->set_candidates(now_, {"worker-0", "worker-9", "worker-1"}, 2));
  const auto wait = [this](Duration more) {
    now_ += more;
    for (const int other : {0, 1})
      member_->on_dial_failed(now_, other, DialFailure::kNoAnswer, "?");
    member_->on_tick(now_);
    for (const int other : {0, 1})
      member_->on_dial_failed(now_, other, DialFailure::kNoAnswer, "?");
    return output<BecomeLeader>().has_value();
  };
  EXPECT_FALSE(wait(options_.lease / 2));  // the new one may come
  ASSERT_TRUE(member_->set_candidates(now_, {"worker-0", "worker-1"}, 1));
  EXPECT_TRUE(wait(Duration::zero()));
}

TEST_F(MemberLeadTest, TellsItsLeaderHowManyWillEverLeadIfAllWereToldTheSame) {
  for (const size_t candidates : {1U, 2U}) {
    for (const bool fixed : {true, false}) {
      MemberSetup setup;
      setup.self.identity = {"worker-0", 0, 76};
      setup.self.candidate = 0;
      setup.candidates = {"worker-0", "worker-1"};
      setup.candidates.resize(candidates);
      setup.source = fixed ? CandidateSource::kTold : CandidateSource::kRead;
      outputs_.clear();
      member_ = std::make_unique<Member>(now_, options_, setup);
      if (candidates > 1) member_->on_dial_failed(now_, 1, DialFailure::kNoName, "NXDOMAIN");
      ASSERT_TRUE(output<BecomeLeader>());
      const LeaderSeed seed = output<BecomeLeader>()->seed;
      EXPECT_EQ(seed.candidates, fixed ? candidates : 0);
      EXPECT_EQ(seed.leaders.empty(), fixed);
    }
  }
}

TEST_F(MemberLeadTest, AsksTheOthersForTheLeaderOfThisProcess) {
  const auto answer = [this](const Message& said) {
    lead();
    member_->on_asked(now_, {});
    EXPECT_EQ(output<Dial>()->candidate, 0);
    member_->on_connected(now_, 0);
    EXPECT_TRUE(sent<Hello>());
    EXPECT_FALSE(output<TellLeader>());
    member_->on_message(now_, 0, said);
    const auto told = output<TellLeader>();
    EXPECT_TRUE(told);
    EXPECT_EQ(output<CloseLink>()->candidate, 0);
    EXPECT_TRUE(member_->has_leader());
    EXPECT_FALSE(output<StopLeading>());
    return told.value_or(TellLeader{});
  };
  const auto refusal = [](uint64_t leader) {
    return Refuse{RefuseCode::kNotLeader, "does not lead", leader, {}};
  };
  EXPECT_FALSE(answer(refusal(0)).answers.elsewhere);
  EXPECT_FALSE(answer(refusal(incarnation_)).answers.elsewhere);  // it follows this very leader
  EXPECT_TRUE(answer(refusal(4711)).answers.elsewhere);
  Welcome welcome{kControlVersion, "job", false, 4711, "worker-0", 10000};
  EXPECT_TRUE(answer(welcome).answers.elsewhere);
  welcome.incarnation = incarnation_;  // under a name that it did not know for its own
  EXPECT_FALSE(answer(welcome).answers.elsewhere);
  EXPECT_FALSE(answer(welcome).answers.silent);
}

// With that in mind it would take the leader's first round for an old one.
TEST_F(MemberLeadTest, WhoKnowsOfALaterRoundMakesTheLeaderHandOver) {
  lead();
  member_->on_asked(now_, {});
  member_->on_connected(now_, 0);
  const LastRound last{5, 33, 2, true, {}};
  member_->on_message(now_, 0, Refuse{RefuseCode::kNotLeader, "does not lead", 0, last});
  ASSERT_TRUE(output<TellLeader>());
  EXPECT_TRUE(output<TellLeader>()->answers.elsewhere);
  Assign assign;
  assign.round = 1;
  assign.node_count = 1;
  member_->on_message(now_, 1, assign);
  EXPECT_EQ(member_->state(), MemberState::kChecking);
}

TEST_F(MemberLeadTest, WhoIsOfAnotherJobIsNotSilent) {
  for (const auto code : {RefuseCode::kRunId, RefuseCode::kSettings, RefuseCode::kClosed}) {
    lead();
    member_->on_asked(now_, {});
    member_->on_connected(now_, 0);
    member_->on_message(now_, 0, Refuse{code, "no", 0, {}});
    ASSERT_TRUE(output<TellLeader>());
    EXPECT_FALSE(output<TellLeader>()->answers.silent);
    EXPECT_FALSE(output<TellLeader>()->answers.elsewhere);
    EXPECT_FALSE(output<TellLeader>()->answers.workers);
    EXPECT_TRUE(member_->has_leader());
  }
}

// Its join may be on its way.
TEST_F(MemberLeadTest, WorkersOfOneThatFollowsAndIsNotHereCount) {
  lead();
  member_->on_asked(now_, {});
  member_->on_connected(now_, 0);
  member_->on_message(now_, 0, Refuse{RefuseCode::kNotLeader, "", incarnation_, {}, true});
  ASSERT_TRUE(output<TellLeader>());
  EXPECT_TRUE(output<TellLeader>()->answers.workers);
  EXPECT_FALSE(output<TellLeader>()->answers.elsewhere);
}

// The last launcher's agent lost its leader, or is told to go: it says so until nothing runs there.
TEST_F(MemberLeadTest, TellsItsLeaderWhoHasWorkersAndDoesNotFollowIt) {
  for (const bool ends : {false, true}) {
    for (const bool gone : {false, true}) {
      begin(1);
      welcome();
      run_round(1);
      if (gone) {
        member_->on_message(now_, 0, Stop{1, 0, "again"});
        member_->on_gone(now_, 1);
      }
      member_->on_link_closed(now_, 0);
      if (ends) member_->on_shutdown(now_, 5s, "SIGTERM");
      const Message said =
          member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
      EXPECT_EQ(std::get<Refuse>(said).code, ends ? RefuseCode::kClosed : RefuseCode::kNotLeader);
      EXPECT_EQ(std::get<Refuse>(said).workers, !gone);

      lead();
      member_->on_asked(now_, {});
      member_->on_connected(now_, 0);
      member_->on_message(now_, 0, said);
      ASSERT_TRUE(output<TellLeader>());
      EXPECT_EQ(output<TellLeader>()->answers.workers, !gone);
    }
  }
}

TEST_F(MemberLeadTest, TellsItsLeaderWhoIsSilent) {
  for (const auto failure : {DialFailure::kNoAnswer, DialFailure::kRefused, DialFailure::kNoName}) {
    lead();
    member_->on_asked(now_, {});
    member_->on_dial_failed(now_, 0, failure, "?");
    ASSERT_TRUE(output<TellLeader>());
    EXPECT_EQ(output<TellLeader>()->answers.silent, failure == DialFailure::kNoAnswer);
  }
  lead();
  member_->on_asked(now_, {});
  member_->on_connected(now_, 0);
  (void)output<Send>();
  for (int beats = 0; beats < 7; ++beats) {
    now_ += options_.lease / 20;
    member_->on_message(now_, 1, Ack{1, 0});
  }
  ASSERT_TRUE(output<TellLeader>());
  EXPECT_TRUE(output<TellLeader>()->answers.silent);
}

TEST_F(MemberLeadTest, ALaterQuestionWantsAnswersOfItsOwn) {
  lead();
  member_->on_asked(now_, {.number = 1});
  member_->on_connected(now_, 0);
  EXPECT_TRUE(sent<Hello>());
  EXPECT_FALSE(output<CloseLink>());
  member_->on_asked(now_, {.number = 2});
  EXPECT_EQ(output<CloseLink>()->candidate, 0);
  member_->on_message(now_, 0, Refuse{});  // on the link that was given up
  EXPECT_FALSE(output<TellLeader>());
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "?");
  ASSERT_TRUE(output<TellLeader>());
  EXPECT_EQ(output<TellLeader>()->answers.question, 2U);
}

TEST_F(MemberLeadTest, AsksNobodyWhoIsHereAndNobodyForALeaderThatIsLost) {
  lead();
  member_->on_asked(now_, {.here = {0, 1}});
  EXPECT_FALSE(output<Dial>());
  ASSERT_TRUE(output<TellLeader>());
  EXPECT_FALSE(output<TellLeader>()->answers.silent);
  lead();
  member_->on_asked(now_, {});
  member_->on_link_closed(now_, 1);
  member_->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "?");
  EXPECT_FALSE(output<TellLeader>());
}

TEST_F(MemberLeadTest, TheListStaysWhileALeaderIsKnown) {
  begin(std::nullopt);
  welcome();
  EXPECT_FALSE(member_->set_candidates(now_, {"worker-7"}, std::nullopt));
}

// All the others find their way back to it; nobody else would bring its own workers back.
TEST_F(MemberLeadTest, TheLeaderThatLivesHereIsDialledAnewWhenItsLinkBreaks) {
  lead();
  member_->on_link_closed(now_, 1, "connection reset");
  ASSERT_TRUE(output<Dial>());
  EXPECT_EQ(output<Dial>()->candidate, 1);
  EXPECT_FALSE(output<StopLeading>());
}

// Who was frozen may have been replaced.
TEST_F(MemberLeadTest, TheOthersAreAskedBeforeALeaderHereThatWasSilent) {
  lead();
  now_ += 5s;
  member_->on_tick(now_);
  ASSERT_TRUE(output<Dial>());
  EXPECT_EQ(output<Dial>()->candidate, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  now_ += 2s;
  member_->on_tick(now_);
  bool own = false;
  (void)output<Dial>();
  for (const MemberOutput& next : outputs_) {
    const auto* dialled = std::get_if<Dial>(&next);
    own = own || (dialled != nullptr && dialled->candidate == 1);
  }
  EXPECT_TRUE(own);
}

// A leader that was elected meanwhile would have a rival.
TEST_F(MemberLeadTest, AnswersFromBeforeAPauseDoNotCount) {
  begin(1);
  watch(9s);
  member_->on_connected(now_, 0);
  now_ += 20s;
  // What was on its way lay in the socket all the time.
  member_->on_message(now_, 0, Refuse{RefuseCode::kClosed, "ending", 0, {}});
  outputs_.clear();
  member_->on_tick(now_);
  (void)member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
  member_->on_tick(now_);
  EXPECT_FALSE(output<BecomeLeader>());
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  EXPECT_FALSE(output<BecomeLeader>()) << "it asked a moment ago";
  watch(10s);
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  EXPECT_TRUE(output<BecomeLeader>());
}

TEST_F(MemberLeadTest, TheLeaderKnowsWhomItsAgentHasRefused) {
  begin(1);
  (void)member_->answer(now_, Hello{kControlVersion, "other", false, 0, {}, {}, "worker-9", {}});
  for (int look = 0; look < 3; ++look) {
    member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
    watch(10s);
  }
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  EXPECT_EQ(lead->seed.misfit, "worker-9 has the run id 'other', the job at this endpoint 'job'");
}

// What comes in the same turn finds no leader here yet.
TEST_F(MemberLeadTest, WhoHasDecidedToLeadAnswersForTheLeaderThatItWillBe) {
  begin(0);
  member_->on_dial_failed(now_, 1, DialFailure::kRefused, "refused");
  (void)member_->answer(now_, Hello{kControlVersion, "other", false, 0, {}, {}, "worker-9", {}});
  const auto answer =
      member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 1});
  EXPECT_EQ(std::get<Refuse>(answer).leader, incarnation_);
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  EXPECT_EQ(lead->seed.misfit, "worker-9 has the run id 'other', the job at this endpoint 'job'");
}

TEST_F(MemberLeadTest, SaysOnceForWhomItWaits) {
  begin(1);
  for (int look = 0; look < 3; ++look) {  // at once it says nothing: others are started, too
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    watch(2s);
  }
  (void)output<Log>();
  std::vector<std::string> said;
  for (const MemberOutput& each : outputs_) {
    const auto* log = std::get_if<Log>(&each);
    if (log != nullptr && log->event == "leader.awaited") said.push_back(log->reason);
  }
  EXPECT_EQ(said, std::vector<std::string>{
                      "worker-0, an earlier endpoint, may come to lead for 9 s more"});
}

TEST_F(MemberLeadTest, ACandidateThatAsksIsAlive) {
  begin(1);
  member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
  watch(9s);
  (void)member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
  member_->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "no answer");
  watch(9s);
  EXPECT_FALSE(output<BecomeLeader>());
  watch(2s);
  member_->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "no answer");
  EXPECT_TRUE(output<BecomeLeader>());
}

// Elected from outside (etcd): the member is no candidate itself, the only one is whoever leads.
TEST_F(MemberLeadTest, TheFirstToBeElectedLeadsAtOnce) {
  begin(std::nullopt);
  (void)output<Dial>();
  outputs_.clear();
  member_->on_elected(now_, {7, true});
  ASSERT_TRUE(output<BecomeLeader>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_);
  EXPECT_GT(output<BecomeLeader>()->seed.term, 7 * kMaxCandidates);
  EXPECT_EQ(output<Log>()->level, log::Level::kDebug);  // somebody has to be the first
  EXPECT_EQ(output<Dial>()->candidate, 0);
  member_->on_connected(now_, 0);
  EXPECT_EQ(sent<Hello>()->term, output<BecomeLeader>()->seed.term);
}

TEST_F(MemberLeadTest, WhoIsElectedWithoutKnowingTheLastRoundWaitsForALease) {
  begin(std::nullopt);
  member_->on_elected(now_, {7, false});
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 10s);
  EXPECT_EQ(output<Log>()->level, log::Level::kWarning);
}

TEST_F(MemberLeadTest, WhoIsElectedWhileItsWorkersRunKnowsTheLastRound) {
  begin(std::nullopt);
  welcome();
  run_round(3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_ + 7s, {7, false});
  ASSERT_TRUE(output<BecomeLeader>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 7s);
  EXPECT_EQ(output<BecomeLeader>()->seed.last_round->round, 3U);
  EXPECT_EQ(output<BecomeLeader>()->seed.evidence_until, now_ + 10s);
}

TEST_F(MemberLeadTest, WhoIsElectedAfterItsFenceWaits) {
  begin(std::nullopt);
  welcome();
  run_round(3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_ + 8s, {7, false});
  EXPECT_TRUE(output<KillWorkers>());
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 18s);
}

// Leader 7 formed round 3 and told on leaving that none came after it. It is certain of the one
// that it knows, if nobody has led since.
TEST_F(MemberLeadTest, WhoIsElectedAfterAHandoverKnowsTheLastRound) {
  struct Case {
    uint64_t told, after;
    bool certain;
  };
  for (const auto& [told, after, certain] :
       {Case{3, 7, true}, Case{4, 7, false}, Case{3, 8, false}, Case{3, 0, false}}) {
    begin(std::nullopt);
    welcome();
    run_round(3, 128);
    member_->on_message(now_, 0, Stop{3, 0, "its node leaves"});
    member_->on_gone(now_, 3);
    member_->on_message(now_, 0, Handover{{128, told}, {}, "its node leaves"});
    outputs_.clear();
    member_->on_elected(now_, {.number = 9, .first = false, .after = after});
    ASSERT_TRUE(output<BecomeLeader>());
    EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, certain ? now_ : now_ + 10s)
        << told << " " << after;
  }
}

TEST_F(MemberLeadTest, WorkersThatHaveSucceededProveNothingAboutTheLastRound) {
  begin(std::nullopt);
  welcome();
  run_round(3);
  member_->on_succeeded(now_, 3);
  member_->on_link_closed(now_, 0);
  member_->on_elected(now_, {7, false});
  EXPECT_EQ(output<BecomeLeader>()->seed.elected_safe_at, now_ + 10s);
}

TEST_F(MemberLeadTest, AnElectionThatComesTooLateIsIgnored) {
  begin(std::nullopt);
  welcome();
  member_->on_elected(now_, {7, false});
  EXPECT_FALSE(output<BecomeLeader>());
  begin(std::nullopt);
  EXPECT_TRUE(member_->may_lead());
  member_->on_shutdown(now_, 0s, "told to go");
  EXPECT_FALSE(member_->may_lead());
  outputs_.clear();
  member_->on_elected(now_, {7, false});
  EXPECT_FALSE(output<BecomeLeader>());
}

}  // namespace
}  // namespace muster::rendezvous
