#include "base/life_cycle.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Door { kOpen, kShut };
enum class Push { kOpen, kShut };
enum class Deed { kNothing, kMove, kBug };
using Life = LifeCycle<Door, Push, Deed>;

constexpr std::array kTable{
    Life::ignore(Door::kOpen, Push::kOpen, "it is open"),
    Life::go(Door::kOpen, Push::kShut, Door::kShut, Deed::kMove),
    Life::note(Door::kShut, Push::kOpen, Door::kOpen, "by itself"),
    Life::bug(Door::kShut, Push::kShut, "nobody would"),
};

TEST(LifeCycle, EveryPairHasItsRow) {
  EXPECT_TRUE(Life::is_complete(kTable, Door::kShut, Push::kShut));
  for (const auto& row : kTable) EXPECT_EQ(&Life::find(kTable, row.state, row.event), &row);
}

TEST(LifeCycle, RowsSayWhatTheyMean) {
  EXPECT_EQ(kTable[0].next, Door::kOpen);
  EXPECT_EQ(kTable[0].action, Deed::kNothing);
  EXPECT_EQ(kTable[1].next, Door::kShut);
  EXPECT_EQ(kTable[1].action, Deed::kMove);
  EXPECT_EQ(kTable[2].next, Door::kOpen);
  EXPECT_EQ(kTable[2].action, Deed::kNothing);
  EXPECT_EQ(kTable[3].next, Door::kShut);
  EXPECT_EQ(kTable[3].action, Deed::kBug);
}

TEST(LifeCycle, APairTooFewOrOutOfPlaceIsNotComplete) {
  constexpr std::array kShort{kTable[0], kTable[1], kTable[2]};
  EXPECT_FALSE(Life::is_complete(kShort, Door::kShut, Push::kShut));
  constexpr std::array kTwice{kTable[0], kTable[1], kTable[1], kTable[3]};
  EXPECT_FALSE(Life::is_complete(kTwice, Door::kShut, Push::kShut));
  constexpr std::array kMixed{kTable[1], kTable[0], kTable[2], kTable[3]};
  EXPECT_FALSE(Life::is_complete(kMixed, Door::kShut, Push::kShut));
}

}  // namespace
}  // namespace muster
