#include "nccl/pairs/pair_verdict.h"

#include <gtest/gtest.h>

#include "nccl/pairs/pair_schedule.h"

namespace muster::nccl {
namespace {

PairResult pair(int low, int high, double rate, double latency = 30) {
  PairResult result;
  result.low = low;
  result.high = high;
  result.latency_us = latency;
  result.bytes_per_second = rate;
  return result;
}

PairResult failed(int low, int high) {
  PairResult result = pair(low, high, 0);
  result.failure = "no answer in time";
  return result;
}

std::string judged(const std::vector<PairResult>& pairs, int nodes) {
  std::vector<std::string> names;
  for (int node = 0; node < nodes; ++node) names.push_back("n" + std::to_string(node));
  std::string text;
  const PairVerdict verdict = judge_pairs(pairs, names);
  for (const Finding& finding : verdict.findings) {
    text += finding.id + " " + finding.what.substr(0, finding.what.find(':')) + "\n";
  }
  return text;
}

// Whose fault it is, by number.
std::vector<int> faulty(const std::vector<PairResult>& pairs, std::vector<std::string> names) {
  std::vector<int> nodes;
  for (const FaultyNode& node : judge_pairs(pairs, names).faulty) nodes.push_back(node.node);
  return nodes;
}

TEST(PairVerdict, GoodPairsSayNothing) {
  EXPECT_EQ(judged({pair(0, 1, 1e9), pair(2, 3, 1.1e9), pair(1, 2, 0.8e9), pair(0, 3, 1e9)}, 4),
            "");
  EXPECT_EQ(judged({pair(0, 1, 1e6)}, 2), "");  // nothing to compare it with
  EXPECT_EQ(judged({}, 1), "");
}

TEST(PairVerdict, ANodeThatIsSlowWithBothIsNamedOnce) {
  EXPECT_EQ(judged({pair(0, 1, 1e9), pair(2, 3, 1e7), pair(1, 2, 1e7), pair(0, 3, 1e9)}, 4),
            "bw_pair n2\n");
}

TEST(PairVerdict, OfThreeNodesTheOneThatIsNotCleared) {
  EXPECT_EQ(judged({pair(0, 1, 1e9), failed(1, 2)}, 3), "firewall n2\n");
}

TEST(PairVerdict, IfBothAreFineWithOthersItIsTheLink) {
  EXPECT_EQ(judged({pair(0, 1, 1e9), pair(2, 3, 1e9), failed(1, 2), pair(0, 3, 1e9)}, 4),
            "firewall the link between n1 and n2\n");
}

TEST(PairVerdict, OfTwoNobodyCanTell) {
  EXPECT_EQ(judged({failed(0, 1)}, 2), "firewall n0 or n1\n");
}

TEST(PairVerdict, ALateNodeIsAWarning) {
  const std::vector<PairResult> pairs = {pair(0, 1, 1e9), pair(2, 3, 1e9, 900),
                                         pair(1, 2, 1e9, 900), pair(0, 3, 1e9)};
  EXPECT_EQ(judged(pairs, 4), "lat_pair n2\n");
  const auto findings = judge_pairs(pairs, {"a", "b", "c", "d"}).findings;
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_NE(findings[0].what.find("900 us between c and d"), std::string::npos);
}

TEST(PairVerdict, ANodeIsNamedOnlyIfItAloneIsAtFault) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  EXPECT_EQ(faulty({pair(0, 1, 1e9), pair(2, 3, 1e7), pair(1, 2, 1e7), pair(0, 3, 1e9)}, names),
            std::vector{2});
  EXPECT_EQ(faulty({failed(0, 1)}, names), std::vector<int>{});
  EXPECT_EQ(faulty({failed(0, 1), pair(2, 3, 1e9), pair(1, 2, 1e9), pair(3, 4, 1e9)},
                   {"a", "b", "c", "d", "e"}),
            std::vector<int>{})
      << "of an odd number two are measured once, and the link may be bad";
  EXPECT_EQ(faulty({pair(0, 1, 1e9), pair(2, 3, 1e9), failed(1, 2), pair(0, 3, 1e9)}, names),
            std::vector<int>{});
  EXPECT_EQ(faulty({pair(0, 1, 1e9), pair(2, 3, 1e9, 900), pair(1, 2, 1e9, 900)}, names),
            std::vector<int>{})
      << "late is not broken";
}

TEST(PairVerdict, WhoDidNotComeIsAtFaultThoughNobodyIsCleared) {
  PairResult result = failed(0, 1);
  result.absent = 1;
  EXPECT_EQ(faulty({result}, {"a", "b"}), std::vector{1});
  EXPECT_EQ(judge_pairs({result}, {"a", "b"}).findings.at(0).what.substr(0, 2), "b:");
}

// One bad node of many is found by two rounds, whatever its place.
TEST(PairVerdict, OneOfManyIsAlwaysNamed) {
  for (int nodes = 3; nodes < 20; ++nodes) {
    for (int bad = 0; bad < nodes; ++bad) {
      std::vector<PairResult> pairs;
      for (int round = 0; round < pair_rounds(nodes); ++round) {
        for (const auto& [low, high] : pairs_of(nodes, round))
          pairs.push_back(pair(low, high, low == bad || high == bad ? 1e6 : 1e9));
      }
      EXPECT_EQ(judged(pairs, nodes), "bw_pair n" + std::to_string(bad) + "\n") << nodes;
    }
  }
}

PairResult over(PairResult pair, double rate, double latency = 30) {
  pair.over_provider = ProviderResult{"efa", "", latency, rate};
  return pair;
}

// Their figures over TCP are fine.
std::vector<PairResult> four_pairs(double of_third_node, double latency = 30) {
  return {over(pair(0, 1, 1e9), 1e10), over(pair(2, 3, 1e9), of_third_node, latency),
          over(pair(1, 2, 1e9), of_third_node, latency), over(pair(0, 3, 1e9), 1e10)};
}

TEST(PairVerdict, AProviderIsJudgedByItsOwnFigures) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  EXPECT_EQ(judged(four_pairs(1e10), 4), "");
  EXPECT_EQ(judged(four_pairs(2e9), 4), "bw_pair n2\n");
  EXPECT_EQ(judge_pairs(four_pairs(2e9), names).findings[0].what,
            "c: 2.0 GB/s between c and d over efa, the median of all pairs is 10.0 GB/s");
  EXPECT_EQ(faulty(four_pairs(2e9), names), std::vector<int>{}) << "jobs may use another device";
  EXPECT_EQ(judged(four_pairs(1e10, 900), 4), "lat_pair n2\n");
  EXPECT_EQ(judge_pairs(four_pairs(1e10, 900), names).findings[0].what,
            "c: 900 us between c and d over efa, the median of all pairs is 30 us");
}

TEST(PairVerdict, AProviderThatFails) {
  std::vector<PairResult> pairs = four_pairs(1e10);
  for (const size_t of_third : {1, 2}) pairs[of_third].over_provider->failure = "no answer";
  const PairVerdict verdict = judge_pairs(pairs, {"a", "b", "c", "d"});
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].id, "firewall");
  EXPECT_EQ(verdict.findings[0].what, "c: c and d do not reach each other over efa: no answer");
  EXPECT_TRUE(verdict.faulty.empty());
}

TEST(PairVerdict, PairsThatWereNotMeasuredOverItAreNoFault) {
  std::vector<PairResult> pairs = four_pairs(1e10);
  for (const size_t of_third : {1, 2}) pairs[of_third].over_provider.reset();
  EXPECT_EQ(judged(pairs, 4), "");
}

TEST(PairVerdict, ANodeThatIsBadInBothWaysIsToldTwiceAndLeftOutOnce) {
  std::vector<PairResult> pairs = four_pairs(2e9);
  for (const size_t of_third : {1, 2}) pairs[of_third].bytes_per_second = 1e7;
  EXPECT_EQ(judged(pairs, 4), "bw_pair n2\nbw_pair n2\n");
  EXPECT_EQ(faulty(pairs, {"a", "b", "c", "d"}), std::vector{2});
}

TEST(PairVerdict, ErrorsOfAProviderComeBeforeWarnings) {
  std::vector<PairResult> pairs = four_pairs(1e10);
  for (const size_t of_second : {0, 2}) pairs[of_second].latency_us = 900;
  pairs[1].over_provider->failure = "no answer";
  EXPECT_EQ(judged(pairs, 4), "firewall the link between n2 and n3\nlat_pair n1\n");
}

TEST(PairVerdict, RatesForPeople) {
  EXPECT_EQ(format_rate(1.25e9), "1.2 GB/s");
  EXPECT_EQ(format_rate(3.5e7), "35 MB/s");
  EXPECT_EQ(format_rate(900), "1 kB/s");
}

}  // namespace
}  // namespace muster::nccl
