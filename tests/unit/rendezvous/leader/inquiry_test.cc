// What a leader asks those who may lead and are not with it.
#include "rendezvous/leader/inquiry.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart = TimePoint(seconds(1000));

TEST(Inquiry, OnlyTheLastQuestionCounts) {
  Inquiry inquiry;
  const uint64_t first = inquiry.begin();
  EXPECT_TRUE(inquiry.is_current(first));
  EXPECT_TRUE(inquiry.is_current(inquiry.begin()));
  EXPECT_FALSE(inquiry.is_current(first));
}

TEST(Inquiry, AnAnswerIsGoodForAWhile) {
  Inquiry inquiry;
  EXPECT_FALSE(inquiry.is_answered(kStart, seconds(5)));
  inquiry.await(kStart + seconds(30));
  inquiry.answered(kStart);
  EXPECT_EQ(inquiry.ask_at(), std::nullopt);
  EXPECT_TRUE(inquiry.is_answered(kStart + seconds(4), seconds(5)));
  EXPECT_FALSE(inquiry.is_answered(kStart + seconds(5), seconds(5)));
}

TEST(Inquiry, ALookWaitsForTheRoundsQuestion) {
  Inquiry inquiry;
  EXPECT_EQ(inquiry.next_look(kStart, seconds(30)), kStart + seconds(30));
  inquiry.await(kStart + seconds(45));
  EXPECT_EQ(inquiry.next_look(kStart, seconds(30)), kStart + seconds(45));
  inquiry.look(kStart + seconds(45));
  EXPECT_EQ(inquiry.ask_at(), std::nullopt);
  EXPECT_EQ(inquiry.next_look(kStart, seconds(30)), kStart + seconds(75));
}

}  // namespace
}  // namespace muster::rendezvous
