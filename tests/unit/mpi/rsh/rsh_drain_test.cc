#include "mpi/rsh/rsh_drain.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

using namespace std::chrono_literals;

TEST(RshDrainTable, EveryPairIsDecidedAndEveryNonActionSaysWhy) {
  EXPECT_EQ(drain_transitions().size(), kDrainStates * kDrainEvents);
  for (const DrainTransition& row : drain_transitions()) {
    EXPECT_EQ(&transition(row.state, row.event), &row);
    const bool idle = row.action == DrainAction::kNothing || row.action == DrainAction::kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
  }
}

class RshDrainTest : public ::testing::Test {
 protected:
  void pass(Duration time) {
    clock_.advance(time);
    EXPECT_TRUE(loop_->run_until_idle());
  }
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  int told_ = 0, done_ = 0;
  RshDrain drain_{*loop_, [this] { ++told_; }};
};

TEST_F(RshDrainTest, CommandsMayEndByThemselvesThenTheyAreToldThenItIsOver) {
  drain_.hurry();
  drain_.all_ended();
  EXPECT_EQ(drain_.state(), DrainState::kIdle);
  drain_.begin(4s, [this] { ++done_; });
  pass(1900ms);
  EXPECT_EQ(told_, 0);
  pass(200ms);
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(drain_.state(), DrainState::kTerminating);
  pass(2s);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(drain_.state(), DrainState::kDone);
}

TEST_F(RshDrainTest, ItIsOverWhenAllHaveEndedOrSomebodyHurries) {
  drain_.begin(4s, [this] { ++done_; });
  drain_.all_ended();
  drain_.all_ended();
  drain_.hurry();
  pass(5s);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(told_, 0);
  RshDrain other(*loop_, [this] { ++told_; });
  other.begin(4s, [this] { ++done_; });
  other.hurry();
  EXPECT_EQ(done_, 2);
}

}  // namespace
}  // namespace muster::mpi
