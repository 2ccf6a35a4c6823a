#include "base/strangers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"

namespace muster {
namespace {

class StrangersTest : public ::testing::Test {
 protected:
  // Holds its place until it is dropped or proves who it is.
  struct Stranger {
    Strangers::Place place;
    std::string dropped;
  };
  Stranger& come() {
    auto& stranger = *all_.emplace_back(std::make_unique<Stranger>());
    stranger.place = strangers_.enter();
    stranger.place.on_drop([&stranger](const std::string& reason) {
      stranger.dropped = reason;
      stranger.place.leave();
    });
    return stranger;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  Strangers strangers_{*loop_, 2};
  std::vector<std::unique_ptr<Stranger>> all_;
};

TEST_F(StrangersTest, TheOldestGoesWhenThereIsNoPlace) {
  const Stranger& first = come();
  const Stranger& second = come();
  EXPECT_EQ(first.dropped, "");
  const Stranger& third = come();
  EXPECT_EQ(first.dropped, "the oldest of 2 connections that have proved nothing");
  EXPECT_EQ(second.dropped + third.dropped, "");
  EXPECT_EQ(strangers_.size(), 2U);
}

TEST_F(StrangersTest, WhoeverHasProvedWhoItIsStays) {
  Stranger& member = come();
  member.place.leave();
  for (int i = 0; i < 5; ++i) come();
  EXPECT_EQ(member.dropped, "");
  EXPECT_EQ(strangers_.size(), 2U);
}

TEST_F(StrangersTest, APlaceMayMoveAndOutliveThePort) {
  Strangers::Place place;
  {
    Strangers port(*loop_, 1);
    Strangers::Place first = port.enter();
    place = std::move(first);
    EXPECT_EQ(port.size(), 1U);
  }
  place.leave();
  EXPECT_TRUE(place.take_line());
}

TEST_F(StrangersTest, TogetherTheyCauseSoManyLines) {
  const Stranger& stranger = come();
  for (int i = 0; i < kMaxLines; ++i) EXPECT_EQ(stranger.place.take_line(), 0);
  EXPECT_FALSE(come().place.take_line());
  EXPECT_FALSE(stranger.place.take_line());
  EXPECT_EQ(Strangers::Place().take_line(), 0) << "no stranger";
  clock_.advance(kLineWindow);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(stranger.place.take_line(), 2);
}

}  // namespace
}  // namespace muster
