#include "mpi/ranks/elastic_ranks.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::mpi {
namespace {

using namespace std::chrono_literals;

class ElasticRanksTest : public ::testing::Test {
 protected:
  void begin(uint64_t line, uint32_t rank, std::string node = "node-2") {
    ranks_.began(now_, line, {.node = std::move(node), .rank = rank, .pid = 7});
  }
  elastic::FailureRecord launcher() const {
    elastic::FailureRecord record;
    record.rank = elastic::kNoRank;
    record.node = "node-1";
    record.status.code = 1;
    record.reason = "horovodrun: exit code 1 (user error)";
    record.noticed = now_;
    return record;
  }
  ElasticRanks ranks_{"node-1", 2};
  TimePoint now_{100s};
};

TEST_F(ElasticRanksTest, ALauncherThatNoRankExplainsStandsForItself) {
  begin(1, 0);
  EXPECT_FALSE(ranks_.ended(now_, 1, {.code = 0}).has_value());
  begin(2, 0);
  EXPECT_FALSE(ranks_.ended(now_, 2, {.signal = SIGTERM, .told = SIGTERM}).has_value());
  EXPECT_FALSE(ranks_.ended(now_, 3, {.code = 3}).has_value());  // never began
  EXPECT_EQ(ranks_.explained(launcher()).rank, elastic::kNoRank);
}

TEST_F(ElasticRanksTest, TheFirstOfTheLastTroubleExplainsItWithTheLaunchersCode) {
  begin(1, 4, "node-9");
  begin(2, 1);
  begin(3, 0, "");
  ASSERT_TRUE(ranks_.lost(now_, 1).has_value());  // coped with, long ago
  now_ += 60s;
  const auto told = ranks_.ended(now_, 2, {.code = 3});
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->status.code, 3);
  EXPECT_EQ(told->attempt, 2);
  now_ += 5s;
  ranks_.ended(now_, 3, {.signal = SIGABRT});
  now_ += 1s;
  const auto record = ranks_.explained(launcher());
  EXPECT_EQ(record.rank, 1);
  EXPECT_EQ(record.node, "node-2");
  EXPECT_EQ(record.status.code, 1);
  EXPECT_EQ(record.reason, "exit code 3 (user error); then horovodrun: exit code 1 (user error)");
}

TEST_F(ElasticRanksTest, NumbersComeAgainAndOldTroubleIsForgotten) {
  begin(1, 0);
  begin(2, 0);
  EXPECT_TRUE(ranks_.lost(now_, 2).has_value());
  EXPECT_EQ(ranks_.explained(launcher()).reason.find("SIGKILL"), 0u);
  now_ += kTroubleKept + 1s;
  EXPECT_EQ(ranks_.explained(launcher()).rank, elastic::kNoRank);
}

TEST_F(ElasticRanksTest, OnlySoManyEndsAreKept) {
  for (uint64_t line = 1; line <= kMaxEndsKept + 1; ++line) {
    begin(line, static_cast<uint32_t>(line));
    ranks_.lost(now_, line);
  }
  EXPECT_EQ(ranks_.explained(launcher()).rank, 2);
}

}  // namespace
}  // namespace muster::mpi
