// Whole jobs under faults, from seeds. Arguments for soaking: --seeds N --first S. With --digests 1
// each seed's digest is printed: of two builds they differ where a job went another way.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "base/text.h"
#include "tests/simulation/simulator.h"

namespace muster::simulation {

namespace {

#ifdef __SANITIZE_ADDRESS__
uint64_t seeds = 60;  // each takes several times as long
#else
uint64_t seeds = 300;
#endif
uint64_t first_seed = 1;
bool digests = false;
constexpr uint64_t kEnoughToCount = 50;
constexpr uint64_t kSeedsPerLine = 10'000;  // a soak takes 3/4 h
constexpr int kMaxReports = 10;  // a soak shall say which seeds fail, and end soon if most do

std::string report(const Outcome& outcome) {
  return "seed " + std::to_string(outcome.seed) + ": " + outcome.violation + "\n" +
         join(outcome.last_events, "\n");
}

// Of World::check_round: two rounds are alive at a time.
constexpr std::string_view kTwoRounds = " while round ";

// Some seed, soon, breaks the promise with these words, which no other promise has. `first`: none
// of those before it does, and a sanitizer makes them slow.
bool finds(Scenario scenario, std::string_view words) {
  const uint64_t end = scenario.seed + 300;
  for (; scenario.seed < end; ++scenario.seed) {
    if (simulate(scenario).violation.find(words) != std::string::npos) return true;
  }
  return false;
}
bool finds(Bug bug, std::string_view words, bool etcd = false, uint64_t first = 1) {
  return finds(Scenario{.seed = first, .bug = bug, .etcd = etcd}, words);
}
bool finds_where_lists_change(Bug bug, std::string_view words, uint64_t first = 1) {
  return finds(Scenario{.seed = first, .bug = bug, .lists = true}, words);
}

void check_promises(Scenario scenario) {
  int successes = 0;
  int rounds = 0;
  int take_overs = 0;
  int violations = 0;
  int resizes = 0;
  int restarts = 0;
  int stops = 0;
  int settled = 0;
  int steps = 0;
  int alone = 0;
  int unfit = 0;
  int exchanges = 0;
  int split = 0;
  // One of five of the other jobs has such a list, too; commands change little else.
  const uint64_t count = scenario.lists || scenario.commands ? seeds / 3 : seeds;
  for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    scenario.seed = seed;
    const Outcome outcome = simulate(scenario);
    if (!outcome.violation.empty() && ++violations <= kMaxReports) ADD_FAILURE() << report(outcome);
    if (digests)
      std::printf("seed %llu digest %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(outcome.digest));
    successes += outcome.success ? 1 : 0;
    rounds += outcome.rounds;
    take_overs += outcome.take_overs;
    resizes += outcome.resizes;
    restarts += outcome.restarts;
    stops += outcome.stops;
    settled += outcome.settled ? 1 : 0;
    steps += outcome.steps;
    alone += outcome.alone;
    unfit += outcome.unfit;
    exchanges += outcome.exchanges;
    split += outcome.split ? 1 : 0;
    const uint64_t done = seed - first_seed + 1;
    if (done % kSeedsPerLine == 0) {
      std::printf("%llu seeds, %d violations\n", static_cast<unsigned long long>(done), violations);
      std::fflush(stdout);
    }
  }
  std::printf(
      "%llu seeds: %d jobs succeeded, %d rounds, %d take-overs, %d sizes, %d restarts, %d "
      "ends asked for, %d jobs settled, %d steps told, %d workers started alone, %d nodes not fit, "
      "%d answers to "
      "exchanges, %d fell apart\n",
      static_cast<unsigned long long>(count), successes, rounds, take_overs, resizes, restarts,
      stops, settled, steps, alone, unfit, exchanges, split);
  if (count < kEnoughToCount) return;
  // A simulator in which nothing happens proves nothing. Four of five jobs succeed.
  const int all = static_cast<int>(count);
  EXPECT_GT(successes, scenario.commands ? all / 4 : all * 2 / 3);
  EXPECT_GE(restarts, scenario.commands ? all / 4 : 0);
  EXPECT_GE(stops, scenario.commands ? all / 4 : 0);
  EXPECT_GT(rounds, all * 3 / 2);
  EXPECT_GT(take_overs, all / 3);
  EXPECT_GT(resizes, all / 4);
  EXPECT_GT(settled, scenario.commands ? all / 100 : all / 20);
  EXPECT_GT(steps, all * 5);
  EXPECT_GT(alone, all / 10);
  EXPECT_GT(unfit, all / 10);
  EXPECT_GT(exchanges, all);
  EXPECT_LE(split, all / 50);
}

TEST(Simulation, PromisesHoldUnderFaults) { check_promises({}); }
TEST(Simulation, PromisesHoldWhereEtcdElects) { check_promises({.etcd = true}); }
TEST(Simulation, PromisesHoldWhereListsChange) { check_promises({.lists = true}); }

TEST(Simulation, PromisesHoldWhereUsersCommand) { check_promises({.commands = true}); }
TEST(Simulation, PromisesHoldWhereUsersCommandAndEtcdElects) {
  check_promises({.etcd = true, .commands = true});
}

TEST(Simulation, SameSeedSameEvents) {
  EXPECT_EQ(simulate({7, Bug::kNone}).last_events, simulate({7, Bug::kNone}).last_events);
}

TEST(Simulation, FindsAgentsThatDoNotFence) { EXPECT_TRUE(finds(Bug::kNoFence, kTwoRounds)); }
TEST(Simulation, FindsAMissingMajorityRule) { EXPECT_TRUE(finds(Bug::kNoMajority, kTwoRounds)); }
TEST(Simulation, FindsAForgottenBudget) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kForgetBudget, "budget lost", etcd, etcd ? 30 : 70)) << etcd;
}
TEST(Simulation, FindsWorkersThatOutliveTheirRound) {
  EXPECT_TRUE(finds(Bug::kLateStop, kTwoRounds));
}

TEST(Simulation, FindsRoundsOfASizeThatIsNotAllowed) {
  EXPECT_TRUE(finds(Bug::kAnySize, " nodes, allowed "));
}
TEST(Simulation, FindsAnExceededBudget) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kNoBudget, "budget exceeded", etcd)) << etcd;
}
TEST(Simulation, FindsRestartsThatNobodyCounted) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kUncounted, "budget lost", etcd)) << etcd;
}
TEST(Simulation, FindsRanksThatFollowArrival) {
  EXPECT_TRUE(finds(Bug::kArrivalRanks, "same members, other ranks", false, 95));
}
TEST(Simulation, FindsWorldsOfTheWrongSize) {
  EXPECT_TRUE(finds(Bug::kLostSizes, "ranks run in a world of"));
}
TEST(Simulation, FindsJobsThatNeverEnd) {
  EXPECT_TRUE(finds(Bug::kWaitForever, "no end within the time"));
}

TEST(Simulation, FindsAgentsOfOneMachineThatAreTakenForOne) {
  EXPECT_TRUE(finds(Bug::kOnePlace, "lives, its leader says"));
}
TEST(Simulation, FindsATargetThatTheNextLeaderDoesNotKnow) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kForgetTarget, "target is", etcd, etcd ? 95 : 10)) << etcd;
}
TEST(Simulation, FindsARoundThatOutlivesItsTarget) {
  EXPECT_TRUE(finds(Bug::kDeafLeader, "goes on, the target is"));
}
TEST(Simulation, FindsASizeThatWasAskedForAndForgotten) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kForgetAsked, "were asked for", etcd, 10)) << etcd;
}
TEST(Simulation, FindsALeaderThatTellsTooLate) {
  EXPECT_TRUE(finds(Bug::kLateWord, "did not tell", false, 10));
}
TEST(Simulation, FindsARoundThatStaysSmall) {
  EXPECT_TRUE(finds(Bug::kStaySmall, "stays small", false, 65));
}
TEST(Simulation, FindsARoundThatGrowsTooSoon) {
  for (const Bug bug : {Bug::kGrowAtOnce, Bug::kGrowOften})
    EXPECT_TRUE(finds(bug, "grows too soon"));
}
TEST(Simulation, FindsALauncherThatOtherNodesStop) {
  EXPECT_TRUE(finds(Bug::kLaterRound, "to which nothing happened"));
}
TEST(Simulation, FindsAWindowThatTheNextLeaderDoesNotKnow) {
  constexpr uint64_t kFewLiveThroughThat = 1150;
  EXPECT_TRUE(finds(Bug::kForgetAges, "budget lost", false, kFewLiveThroughThat));
}
TEST(Simulation, FindsASecondLauncher) {
  constexpr uint64_t kFewJobsAreLikeThat = 3150;
  EXPECT_TRUE(finds(Bug::kSecondLauncher, kTwoRounds, false, kFewJobsAreLikeThat));
}

TEST(Simulation, FindsAStopThatTheNextLeaderDoesNotKnow) {
  EXPECT_TRUE(finds(Scenario{.bug = Bug::kForgetStop, .commands = true}, "job is to end"));
}

TEST(Simulation, FindsAnswersToExchangesThatAreLost) {
  EXPECT_TRUE(finds(Bug::kLostPart, "no end within the time"));
}
TEST(Simulation, FindsAnswersToAnotherExchange) {
  EXPECT_TRUE(finds(Bug::kOldWord, "what was not given to it"));
}

TEST(Simulation, FindsSavesThatAreCutShort) {
  for (const bool etcd : {false, true})
    EXPECT_TRUE(finds(Bug::kCutSaves, " s to save", etcd)) << etcd;
}

TEST(Simulation, FindsLeadersThatDoNotAskWhoIsListed) {
  EXPECT_TRUE(finds_where_lists_change(Bug::kAskListedOnly, kTwoRounds));
}
TEST(Simulation, FindsNodesThatKeepTheLeadersThatTheyRead) {
  EXPECT_TRUE(finds_where_lists_change(Bug::kKeepLeaders, "stays small"));
}

TEST(Simulation, FindsElectedLeadersThatDoNotWait) {
  EXPECT_TRUE(finds(Bug::kNoSafeWait, kTwoRounds, true));
}
TEST(Simulation, FindsLeadersThatOutliveTheirLeaseInEtcd) {
  EXPECT_TRUE(finds(Bug::kNoEtcdExpiry, kTwoRounds, true, 60));
}

}  // namespace

}  // namespace muster::simulation

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto number = muster::parse_integer(argv[i + 1]);
    if (!number || *number < 1) continue;
    if (std::string_view(argv[i]) == "--seeds") {
      muster::simulation::seeds = static_cast<uint64_t>(*number);
    } else if (std::string_view(argv[i]) == "--first") {
      muster::simulation::first_seed = static_cast<uint64_t>(*number);
    } else if (std::string_view(argv[i]) == "--digests") {
      muster::simulation::digests = true;
    }
  }
  return RUN_ALL_TESTS();
}
