#include "base/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fake_clock.h"

namespace muster {
namespace {

using std::chrono::seconds;

class LoopTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  Pipe pipe_ = std::move(*make_pipe());
  void make_readable() { ASSERT_EQ(write(pipe_.write_end.get(), "x", 1), 1); }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
};

TEST_F(LoopTest, ReadableDescriptorCallsBackUntilItIsRead) {
  int calls = 0;
  auto watch = loop_->watch(pipe_.read_end.get(), Interest::kRead, [&calls, this](Ready ready) {
    EXPECT_TRUE(ready.readable);
    char byte;
    if (++calls < 2) return;
    EXPECT_EQ(read(pipe_.read_end.get(), &byte, 1), 1);
  });
  ASSERT_TRUE(watch);
  make_readable();
  idle();
  EXPECT_EQ(calls, 2);
}

TEST_F(LoopTest, HangUpCountsAsReadable) {
  bool told = false;
  auto watch = loop_->watch(pipe_.read_end.get(), Interest::kRead, [&told, this](Ready ready) {
    told = ready.readable;
    loop_->stop();
  });
  ASSERT_TRUE(watch);
  pipe_.write_end.reset();
  ASSERT_TRUE(loop_->run());
  EXPECT_TRUE(told);
}

TEST_F(LoopTest, EventsOfAWatchRemovedInTheSameTurnAreDropped) {
  auto other = std::move(*make_pipe());
  int calls = 0;
  Watch first;
  Watch second;
  const auto remove_both = [&](Ready) {
    ++calls;
    first.reset();
    second.reset();
  };
  first = std::move(*loop_->watch(pipe_.read_end.get(), Interest::kRead, remove_both));
  second = std::move(*loop_->watch(other.read_end.get(), Interest::kRead, remove_both));
  make_readable();
  ASSERT_EQ(write(other.write_end.get(), "x", 1), 1);
  idle();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, InterestCanBeTurnedOffAndOn) {
  int calls = 0;
  auto watch = loop_->watch(pipe_.read_end.get(), Interest::kNothing, [&calls, this](Ready) {
    ++calls;
    char byte;
    EXPECT_EQ(read(pipe_.read_end.get(), &byte, 1), 1);
  });
  ASSERT_TRUE(watch);
  make_readable();
  idle();
  EXPECT_EQ(calls, 0);
  watch->set_interest(Interest::kRead);
  idle();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, RegularFilesCannotBeWatched) {
  char path[] = "/tmp/muster_loop_test_XXXXXX";
  const UniqueFd file(mkstemp(path));
  ASSERT_EQ(unlink(path), 0);
  const auto watch = loop_->watch(file.get(), Interest::kRead, [](Ready) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().os_errno, EPERM);
}

TEST_F(LoopTest, TimersFireInOrderOfTimeWhenTheirTimeHasCome) {
  std::string order;
  const Timer late = loop_->after(seconds(2), [&order] { order += 'b'; });
  const Timer early = loop_->after(seconds(1), [&order] { order += 'a'; });
  idle();
  EXPECT_EQ(order, "");
  clock_.advance(seconds(3));
  idle();
  EXPECT_EQ(order, "ab");
  EXPECT_FALSE(late.is_active());
}

TEST_F(LoopTest, ACancelledTimerNeverFires) {
  bool fired = false;
  Timer timer = loop_->after(seconds(1), [&fired] { fired = true; });
  EXPECT_TRUE(timer.is_active());
  timer.reset();
  clock_.advance(seconds(2));
  idle();
  EXPECT_FALSE(fired);
}

TEST_F(LoopTest, TimersForNowFireInTheOrderTheyWereSetAndAfterThoseOfEarlierTimes) {
  std::string order;
  const Timer earlier = loop_->after(seconds(1), [&order] { order += 'a'; });
  Timer cancelled;
  Timer nested;
  clock_.advance(seconds(2));
  loop_->refresh_now();
  const Timer first = loop_->soon([&] {
    order += 'b';
    cancelled.reset();
    nested = loop_->soon([&order] { order += 'd'; });
  });
  cancelled = loop_->soon([&order] { order += '!'; });
  const Timer past = loop_->at(loop_->now() - seconds(5), [&order] { order += 'c'; });
  EXPECT_TRUE(cancelled.is_active());
  idle();
  EXPECT_EQ(order, "abcd");
  EXPECT_FALSE(first.is_active());
  EXPECT_FALSE(nested.is_active());
}

TEST_F(LoopTest, ATimerMayCancelAnotherThatIsDueInTheSameTurn) {
  bool fired = false;
  Timer second;
  const Timer first = loop_->after(seconds(1), [&second] { second.reset(); });
  second = loop_->after(seconds(1), [&fired] { fired = true; });
  clock_.advance(seconds(2));
  idle();
  EXPECT_FALSE(fired);
}

TEST_F(LoopTest, ATimerSetForNowByATimerWaitsForTheNextTurn) {
  int fired = 0;
  Timer chain;
  std::function<void()> again = [&] {
    if (++fired < 3) chain = loop_->after(Duration::zero(), again);
  };
  chain = loop_->after(Duration::zero(), again);
  idle();
  EXPECT_EQ(fired, 3);
}

TEST_F(LoopTest, TimeStandsStillWithinATurn) {
  TimePoint seen_first;
  TimePoint seen_last;
  const Timer timer = loop_->soon([&, this] {
    seen_first = loop_->now();
    clock_.advance(seconds(5));
    seen_last = loop_->now();
  });
  idle();
  EXPECT_EQ(seen_first, seen_last);
}

TEST_F(LoopTest, WhatShallHappenSoonComesAfterReadyDescriptorsAndOncePerTurn) {
  std::string order;
  Timer from_descriptor;
  auto watch = loop_->watch(pipe_.read_end.get(), Interest::kRead, [&, this](Ready) {
    char byte;
    EXPECT_EQ(read(pipe_.read_end.get(), &byte, 1), 1);
    order += 'r';
    from_descriptor = loop_->soon([&order] { order += 's'; });
  });
  ASSERT_TRUE(watch);
  make_readable();
  Timer nested;
  const Timer first = loop_->soon([&, this] {
    order += 'p';
    nested = loop_->soon([&order] { order += 'q'; });
  });
  idle();
  EXPECT_EQ(order, "rpsq");
}

TEST_F(LoopTest, WhatShallHappenSoonEndsWithItsOwner) {
  bool called = false;
  {
    const Timer timer = loop_->soon([&called] { called = true; });
  }
  idle();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace muster
