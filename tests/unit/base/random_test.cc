#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace muster {
namespace {

TEST(Random, TheSameStateGivesTheSameFractions) {
  uint64_t one = 7;
  uint64_t other = 7;
  EXPECT_EQ(next_fraction(one), next_fraction(other));
  EXPECT_EQ(one, other);
  EXPECT_NE(next_fraction(one), next_fraction(one));
}

TEST(Random, FractionsOfNeighbouringStatesAreSpreadEvenly) {
  std::array<int, 10> tenths{};
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    uint64_t state = seed;
    const double fraction = next_fraction(state);
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
    ++tenths.at(static_cast<size_t>(fraction * 10));
  }
  EXPECT_GT(*std::min_element(tenths.begin(), tenths.end()), 900);
  EXPECT_LT(*std::max_element(tenths.begin(), tenths.end()), 1100);
}

}  // namespace
}  // namespace muster
