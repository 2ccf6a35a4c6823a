#include "rendezvous/agreement/replacement.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

// The last round had node-0 at 10.0.0.1 and node-1 at 10.0.0.2, and node-1 is left.
class ReplacementTest : public ::testing::Test {
 protected:
  ReplacementTest() {
    options_.min_nodes = options_.max_nodes = 2;
    options_.lease = 10s;
    electorates_.latest.round = 3;
    electorates_.latest.term = 1;
    electorates_.latest.seats.resize(2);
    for (int rank = 0; rank < 2; ++rank) {
      const auto at = static_cast<size_t>(rank);
      electorates_.latest.sit(at, 100 + at);
      RosterEntry who;
      who.identity.name = "node-" + std::to_string(rank);
      who.host = "10.0.0." + std::to_string(rank + 1);
      who.port = 29400;
      electorates_.latest.seats[at].who = who;
    }
    left_ = join("node-1", "10.0.0.2");
    facts_.leaders_since = now_ - 1s;
    facts_.here.push_back({101, &left_, now_ - 30s, false});
    facts_.knows = [](uint64_t incarnation) { return incarnation == 101; };
  }
  static Join join(const std::string& name, const std::string& host) {
    Join join;
    join.identity.name = name;
    join.host = host;
    join.port = 29400;
    return join;
  }
  std::optional<TimePoint> mark() { return mark_replaced(now_, electorates_, facts_, options_); }
  [[nodiscard]] bool is_replaced(size_t rank) const {
    return electorates_.latest.seats[rank].replaced;
  }
  // When node-0, at another address, has certainly ended.
  [[nodiscard]] TimePoint over() const {
    const LeaseTimes times = lease_times(options_.lease);
    return now_ - 30s + times.touch + 2 * times.lease +
           std::max(options_.stop_grace, options_.lost_grace);
  }

  TimePoint now_ = TimePoint{} + 1h;
  JobOptions options_;
  Electorates electorates_;
  ReplacementFacts facts_;
  Join left_;
};

TEST_F(ReplacementTest, NobodyIsReplacedWhosePlaceIsEmpty) {
  EXPECT_EQ(mark(), std::nullopt);
  EXPECT_FALSE(is_replaced(0));
}

TEST_F(ReplacementTest, WhoseAddressAnotherHasIsGoneInALease) {
  const Join next = join("node-0", "10.0.0.1");
  facts_.here.push_back({200, &next, now_, false});
  EXPECT_EQ(mark(), facts_.leaders_since + options_.lease);
  EXPECT_TRUE(is_replaced(0));
  EXPECT_FALSE(is_replaced(1)) << "it is here";
}

TEST_F(ReplacementTest, ElsewhereItsRoundIsWaitedFor) {
  const Join next = join("node-0", "10.0.0.9");
  facts_.here.push_back({200, &next, now_, false});
  EXPECT_EQ(mark(), std::max(over(), facts_.leaders_since + options_.lease));
  EXPECT_TRUE(is_replaced(0));
}

TEST_F(ReplacementTest, ElsewhereItMayGoOnIfRoundsMayBeSmaller) {
  const Join next = join("node-0", "10.0.0.9");
  facts_.here.push_back({200, &next, now_, false});
  options_.min_nodes = 1;
  EXPECT_EQ(mark(), std::nullopt);
  options_.min_nodes = 2;
  options_.spares = 1;
  EXPECT_EQ(mark(), std::nullopt) << "a spare may have taken the place of the node that is here";
}

TEST_F(ReplacementTest, ElsewhereItMayGoOnIfNobodyOfItsRoundIsHere) {
  const Join next = join("node-0", "10.0.0.9");
  facts_.here = {{200, &next, now_, false}};
  facts_.knows = [](uint64_t) { return false; };
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(ReplacementTest, ANodeThatHadSucceededIsNotMissed) {
  const Join next = join("node-0", "10.0.0.9");
  facts_.here[0].succeeded = true;
  facts_.here.push_back({200, &next, now_, false});
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(ReplacementTest, TwoNewcomersOfOneNameAreNobodysSuccessors) {
  const Join one = join("node-0", "10.0.0.8");
  const Join two = join("node-0", "10.0.0.9");
  facts_.here.push_back({200, &one, now_, false});
  facts_.here.push_back({201, &two, now_, false});
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(ReplacementTest, ALauncherHasTheFirstPlaceByWhateverName) {
  const Join launcher = join("pi-launcher-xyz", "10.0.0.9");
  facts_.here.push_back({200, &launcher, now_, false});
  EXPECT_EQ(mark(), std::nullopt);
  facts_.launcher = &launcher;
  EXPECT_TRUE(mark());
  EXPECT_TRUE(is_replaced(0));
}

TEST_F(ReplacementTest, TheConfirmedRoundIsLookedAtToo) {
  electorates_.confirmed = electorates_.latest;
  const Join next = join("node-0", "10.0.0.1");
  facts_.here.push_back({200, &next, now_, false});
  EXPECT_TRUE(mark());
  EXPECT_TRUE(electorates_.confirmed.seats[0].replaced);
}

TEST_F(ReplacementTest, WhoIsKnownToHaveEndedNeedsNoSuccessor) {
  electorates_.latest.seats[0].gone = true;
  const Join next = join("node-0", "10.0.0.1");
  facts_.here.push_back({200, &next, now_, false});
  EXPECT_EQ(mark(), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous
