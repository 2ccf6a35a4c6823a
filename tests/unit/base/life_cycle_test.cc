#include "base/life_cycle.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Door { kOpen, kShut };
enum class Push { kOpen, kShut };
enum class Deed { kNothing, kMove, kBug };
using Life = LifeCycle<Door, Push, Deed>;

constexpr std::array kDoor{
    Life::ignore(Door::kOpen, Push::kOpen, "it is open"),
    Life::go(Door::kOpen, Push::kShut, Door::kShut, Deed::kMove),
    Life::note(Door::kShut, Push::kOpen, Door::kOpen, "by itself"),
    Life::bug(Door::kShut, Push::kShut, "nobody would"),
};

TEST(LifeCycle, EveryPairHasItsRow) {
  EXPECT_TRUE(Life::is_complete(kDoor, Door::kShut, Push::kShut));
  for (const auto& row : kDoor) EXPECT_EQ(&Life::find(kDoor, row.state, row.event), &row);
}

TEST(LifeCycle, RowsSayWhatTheyMean) {
  EXPECT_EQ(kDoor[0].next, Door::kOpen);
  EXPECT_EQ(kDoor[0].action, Deed::kNothing);
  EXPECT_EQ(kDoor[1].next, Door::kShut);
  EXPECT_EQ(kDoor[1].action, Deed::kMove);
  EXPECT_EQ(kDoor[2].next, Door::kOpen);
  EXPECT_EQ(kDoor[2].action, Deed::kNothing);
  EXPECT_EQ(kDoor[3].next, Door::kShut);
  EXPECT_EQ(kDoor[3].action, Deed::kBug);
}

TEST(LifeCycle, APairTooFewOrOutOfPlaceIsNotComplete) {
  constexpr std::array kShort{kDoor[0], kDoor[1], kDoor[2]};
  EXPECT_FALSE(Life::is_complete(kShort, Door::kShut, Push::kShut));
  constexpr std::array kTwice{kDoor[0], kDoor[1], kDoor[1], kDoor[3]};
  EXPECT_FALSE(Life::is_complete(kTwice, Door::kShut, Push::kShut));
  constexpr std::array kMixed{kDoor[1], kDoor[0], kDoor[2], kDoor[3]};
  EXPECT_FALSE(Life::is_complete(kMixed, Door::kShut, Push::kShut));
}

}  // namespace
}  // namespace muster
