#include "rendezvous/agreement/takeover.h"

#include <gtest/gtest.h>

#include "rendezvous/agreement/electorate.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using enum CandidateView;

const TimePoint kLost{100s};
constexpr Duration kLease = 30s;

LeadDecision ask(TimePoint now, int self, const std::vector<CandidateView>& views,
                 bool had_leader) {
  const std::vector<TimePoint> seen(views.size(), kLost);
  std::vector<std::string> names;
  for (size_t i = 0; i < views.size(); ++i) names.push_back("worker-" + std::to_string(i));
  return decide_lead(now, {self, names, views, seen, had_leader, kLease});
}

std::vector<NodeFate> fates(std::string_view letters) {
  std::vector<NodeFate> nodes;
  for (const char letter : letters) {
    nodes.push_back({letter == 'P'   ? Fate::kPresent
                     : letter == 'G' ? Fate::kGone
                                     : Fate::kUnknown,
                     std::nullopt});
  }
  return nodes;
}

TEST(DecideLead, FirstCandidateLeadsOnceTheOthersWereAsked) {
  EXPECT_FALSE(ask(kLost, 0, {kUnasked, kUnasked}, false).lead);
  EXPECT_TRUE(ask(kLost, 0, {kUnasked, kFollowing}, false).lead);
  EXPECT_TRUE(ask(kLost, 0, {kUnasked}, false).lead);
}

TEST(DecideLead, NobodyLeadsBesideALeader) {
  EXPECT_FALSE(ask(kLost + 10 * kLease, 0, {kUnasked, kLeading}, true).lead);
  EXPECT_FALSE(ask(kLost + 10 * kLease, 0, {kUnasked, kServed}, true).lead);
}

TEST(DecideLead, LaterCandidateWaitsALeaseAtTheStartOfTheJob) {
  const auto early = ask(kLost, 1, {kGone, kUnasked}, false);
  EXPECT_FALSE(early.lead);
  EXPECT_EQ(early.wake_at, kLost + kLease);
  EXPECT_EQ(early.reason, "worker-0, an earlier endpoint, may come to lead for 30 s more");
  EXPECT_TRUE(ask(kLost + kLease, 1, {kGone, kUnasked}, false).lead);
}

TEST(DecideLead, RefusalAfterALeaderMeansItDied) {
  EXPECT_TRUE(ask(kLost, 1, {kGone, kUnasked}, true).lead);
  EXPECT_FALSE(ask(kLost, 1, {kSilent, kUnasked}, true).lead);
  EXPECT_FALSE(ask(kLost + 10 * kLease, 2, {kGone, kFollowing, kUnasked}, true).lead);
}

TEST(DecideLead, ASilentCandidateMakesItUncertain) {
  EXPECT_TRUE(ask(kLost, 0, {kUnasked, kSilent}, false).uncertain);
  EXPECT_FALSE(ask(kLost, 0, {kUnasked, kGone}, false).uncertain);
}

TEST(DecideQuorum, MoreThanHalfOfThoseThatDidNotEnd) {
  EXPECT_TRUE(decide_quorum(1, fates("PPU")).enough);
  EXPECT_FALSE(decide_quorum(1, fates("PUU")).enough);
  EXPECT_TRUE(decide_quorum(1, fates("GGPPU")).enough);
  EXPECT_TRUE(decide_quorum(1, fates("GG")).enough);
}

TEST(DecideQuorum, ExactHalfNeedsTheLowest) {
  EXPECT_TRUE(decide_quorum(1, fates("PUPU")).enough);
  EXPECT_FALSE(decide_quorum(1, fates("UPUP")).enough);
  EXPECT_TRUE(decide_quorum(1, fates("GPU")).enough);
}

// Every way to split up to seven nodes, of which some ended: never two sides with a quorum, even if
// one side does not know who ended.
TEST(DecideQuorum, TwoSidesNeverBothHaveOne) {
  constexpr int kNodes = 5;
  int states = 1;
  for (int i = 0; i < kNodes; ++i) states *= 6;
  for (int code = 0; code < states; ++code) {
    // 0, 1: lives on side A or B. 2..5: ended; known to neither, A, B, both.
    std::string a;
    std::string b;
    for (int rest = code, i = 0; i < kNodes; ++i, rest /= 6) {
      const int state = rest % 6;
      a.push_back(state == 0 ? 'P' : state == 3 || state == 5 ? 'G' : 'U');
      b.push_back(state == 1 ? 'P' : state == 4 || state == 5 ? 'G' : 'U');
    }
    const bool anybody_a = a.find('P') != std::string::npos;
    const bool anybody_b = b.find('P') != std::string::npos;
    EXPECT_FALSE(anybody_a && anybody_b && decide_quorum(1, fates(a)).enough &&
                 decide_quorum(1, fates(b)).enough)
        << a << " " << b;
  }
}

TEST(DecideFirstQuorum, LeavesTooFewNodesForAnotherRound) {
  EXPECT_TRUE(decide_first_quorum(2, 2, 2).enough);
  EXPECT_FALSE(decide_first_quorum(1, 2, 2).enough);
  EXPECT_FALSE(decide_first_quorum(2, 4, 2).enough);
  EXPECT_TRUE(decide_first_quorum(3, 4, 2).enough);
  EXPECT_FALSE(decide_first_quorum(3, 4, 1).enough);
  EXPECT_TRUE(decide_first_quorum(4, 4, 1).enough);
  EXPECT_TRUE(decide_first_quorum(5, 4, 1).enough);
  EXPECT_EQ(decide_first_quorum(3, 4, 2).reason(), "3 of at most 4 nodes");
  EXPECT_EQ(
      decide_first_quorum(3, 4, 1).reason(),
      "3 of at most 4 nodes are here; an endpoint that is silent may lead the others, of whom 1 is "
      "enough");
}

// Nor one, while another began with the least, because all had answered it.
TEST(DecideFirstQuorum, TwoPartsNeverBothHaveOne) {
  for (int most = 1; most <= 8; ++most) {
    for (int min = 1; min <= most; ++min) {
      for (int a = 0; a <= most; ++a) {
        const int b = most - a;
        const bool enough = decide_first_quorum(a, most, min).enough;
        EXPECT_FALSE(enough && (decide_first_quorum(b, most, min).enough || b >= min))
            << a << " and " << b << ", at least " << min;
      }
    }
  }
}

TEST(SafeToForm, AtOnceWhenEveryFateIsKnownElseALease) {
  EXPECT_EQ(safe_to_form(fates("PGP"), kLost, kLease), kLost);
  EXPECT_EQ(safe_to_form(fates("PUP"), kLost, kLease), kLost + kLease);
  auto nodes = fates("PUP");
  nodes[1].heard = kLost - 20s;
  EXPECT_EQ(safe_to_form(nodes, kLost, kLease), kLost + 10s);
}

RoundReport report(uint64_t round, int rank, int count, bool confirmed) {
  RoundReport told;
  told.round = round;
  told.term = 16;
  told.node_rank = rank;
  told.node_count = count;
  told.confirmed = confirmed;
  return told;
}

TEST(Electorates, AnUnconfirmedRoundNeedsBothMajorities) {
  Electorates known;
  known.learn(report(1, 0, 3, true), 100);
  known.learn(report(1, 1, 3, true), 101);
  known.learn(report(2, 2, 4, false), 102);
  EXPECT_EQ(known.latest.round, 2u);
  EXPECT_EQ(known.confirmed.round, 1u);
  const RoundKey first{16, 1};
  const RoundKey second{16, 2};
  // Two of three never heard of round 2: it cannot have begun.
  EXPECT_TRUE(decide_quorum(known, {{100, first, {}}, {101, first, {}}}).enough);
  EXPECT_FALSE(decide_quorum(known, {{100, first, {}}, {102, second, {}}}).enough);
}

TEST(Electorates, AConfirmedRoundAloneCounts) {
  Electorates known;
  known.learn(report(2, 0, 3, true), 100);
  known.learn(report(2, 1, 3, true), 101);
  EXPECT_TRUE(decide_quorum(known, {{100, {16, 2}, {}}, {101, {16, 2}, {}}}).enough);
  EXPECT_FALSE(decide_quorum(known, {{101, {16, 2}, {}}}).enough);
  known.mark_gone(100, {});
  EXPECT_TRUE(decide_quorum(known, {{101, {16, 2}, {}}}).enough);
}

// 102 leads, with half of the round and its lowest rank, until it is killed; a quorum is left then
// which it never had. What it acknowledged last to 100, 100 holds for a lease.
TEST(Electorates, AnotherLeaderCountedThoseWhoAreGone) {
  const Duration lease = std::chrono::seconds(10);
  const TimePoint killed = TimePoint() + std::chrono::seconds(100);
  const TimePoint came = killed - std::chrono::seconds(8);
  Electorates known;
  for (int rank = 0; rank < 6; ++rank)
    known.learn(report(2, rank, 6, true), static_cast<uint64_t>(100 + rank));
  const RoundKey round{16, 2};
  const std::vector<PresentNode> here = {
      {103, round, came}, {104, round, came}, {105, round, came}};
  EXPECT_FALSE(decide_quorum(known, here).enough);
  known.mark_gone(102, killed);
  ASSERT_TRUE(decide_quorum(known, here).enough);
  EXPECT_EQ(safe_to_form(known, here, came_over(known, here), lease), killed + lease);
}

// 102 had a seat in the confirmed round alone, and its end was known to the leader before.
TEST(Electorates, WhoEndedIsKnownOfBothRounds) {
  Electorates before;
  before.learn(report(1, 0, 3, true), 100);
  before.learn(report(1, 2, 3, true), 102);
  before.learn(report(2, 1, 2, false), 101);
  before.mark_gone(102, {});
  Electorates known;
  known.learn(report(1, 0, 3, true), 100);
  known.learn(report(2, 0, 2, false), 100);
  known.learn(report(2, 1, 2, false), 101);
  const RoundKey second{16, 2};
  const std::vector<PresentNode> here = {{100, second, {}}, {101, second, {}}};
  EXPECT_FALSE(decide_quorum(known, here).enough);  // of round 1 only 100 is known to be here
  for (const EndedNodes& nodes : before.ended()) known.mark_ended(nodes, {});
  EXPECT_TRUE(decide_quorum(known, here).enough);
}

// 102 knew of round 2 when it ended: with 101 it may have shown that it runs everywhere.
TEST(Electorates, WhoIsGoneMayHaveHelpedTheNewerRoundToRun) {
  Electorates known;
  for (const int rank : {0, 1, 2})
    known.learn(report(1, rank, 3, true), static_cast<uint64_t>(100 + rank));
  known.learn(report(2, 1, 2, false), 101);
  const std::vector<PresentNode> here = {{100, {16, 1}, {}}};
  Electorates untouched = known;
  untouched.mark_gone(102, {}, {16, 1});
  EXPECT_TRUE(decide_quorum(untouched, here).enough);
  known.mark_gone(102, {}, {16, 2});
  EXPECT_FALSE(decide_quorum(known, here).enough);
}

TEST(Electorates, WhatWasToldOfTheEndedIsKeptForTheRoundsThatCount) {
  std::vector<EndedNodes> known = {{4, 16, {1}}, {3, 16, {0}}};
  learn_ended(known, {{5, 33, {2}}, {4, 16, {0, 1}}, {9, 16, {7}}}, {33, 5}, {16, 4});
  ASSERT_EQ(known.size(), kMaxEndedRounds);
  EXPECT_EQ(known[0].node_ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(known[1].round, 5u);
}

TEST(Electorates, ALaterLeadersRoundOutranksAHigherNumber) {
  Electorates known;
  known.learn(report(6, 0, 2, false), 100);
  RoundReport later = report(5, 1, 2, true);
  later.term = 33;
  known.learn(later, 101);
  EXPECT_EQ(known.latest.round, 5u);
}

}  // namespace
}  // namespace muster::rendezvous
