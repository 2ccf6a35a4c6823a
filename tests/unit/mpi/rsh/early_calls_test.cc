#include "mpi/rsh/early_calls.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

class EarlyCallsTest : public ::testing::Test {
 protected:
  void call(const std::string& name) { calls_.take({UniqueFd(), name}, {}); }
  void pass(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(loop_->run_until_idle());
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::vector<std::string> served_;
  EarlyCalls calls_{*loop_, [this](const Arrival& arrival, const Status& /*admitted*/) {
                      served_.push_back(arrival.first_bytes);
                    }};
  using Names = std::vector<std::string>;
};

TEST_F(EarlyCallsTest, WaitForTheRoundInTheirOrder) {
  calls_.hold();
  call("a");
  call("b");
  EXPECT_EQ(served_, Names{});
  calls_.release();
  EXPECT_EQ(served_, (Names{"a", "b"}));
  call("c");
  EXPECT_EQ(served_.back(), "c") << "the round runs";
  calls_.hold();
  call("d");
  EXPECT_EQ(served_.back(), "c") << "it is over";
}

TEST_F(EarlyCallsTest, WithoutARoundTheyAreServedAfterAWhile) {
  calls_.hold();
  call("a");
  pass(kLongestHold - std::chrono::milliseconds(1));
  EXPECT_EQ(served_, Names{});
  pass(std::chrono::milliseconds(1));
  EXPECT_EQ(served_, Names{"a"});
  call("b");
  EXPECT_EQ(served_, Names{"a"});
}

TEST_F(EarlyCallsTest, SoManyWaitAtATime) {
  calls_.hold();
  for (size_t i = 0; i < kMaxEarlyCalls; ++i) call("held");
  EXPECT_EQ(served_, Names{});
  call("one more");
  EXPECT_EQ(served_, Names{"one more"});
}

}  // namespace
}  // namespace muster::mpi
