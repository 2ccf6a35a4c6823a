// A leader and what nodes give to exchanges.
#include "rendezvous/agreement/exchange.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using muster::testing::LeaderFixture;

class LeaderExchangeTest : public LeaderFixture {
 protected:
  // The last one to that node; null = none.
  ExchangeAnswer answer_to(int index) {
    ExchangeAnswer last;
    for (const LeaderOutput& output : outputs_) {
      const auto* shared = std::get_if<leader_output::SendAnswer>(&output);
      if (shared != nullptr && shared->link == link_of(index)) last = shared->answer;
    }
    return last;
  }
};

TEST_F(LeaderExchangeTest, AllNodesAreToldOnceAllGave) {
  run_two();
  say(0, Contribution{1, 0, 0, "a", true});
  EXPECT_FALSE(answer_to(0));
  say(1, Contribution{1, 0, 0, "b", true});
  ASSERT_TRUE(answer_to(0));
  EXPECT_EQ(answer_to(0)->size(), 1U);
  EXPECT_EQ(answer_to(0)->at(0).data, std::string("\0\0\0\1a\0\0\0\1b", 10));
  EXPECT_TRUE(answer_to(0)->at(0).last);
  outputs_.clear();
  say(1, Contribution{1, 0, 0, "b", true});  // it missed the answer
  EXPECT_TRUE(answer_to(1));
  EXPECT_FALSE(answer_to(0));
}

// With a thousand nodes a copy for each would be gigabytes.
TEST_F(LeaderExchangeTest, OneAnswerServesAllNodesAndWhoAsksAgain) {
  run_two();
  say(0, Contribution{1, 0, 0, std::string(kMaxExchangeChunkBytes, 'a'), true});
  say(1, Contribution{1, 0, 0, "b", true});
  const ExchangeAnswer answer = answer_to(0);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer_to(1), answer);
  EXPECT_FALSE(sent<Exchanged>(0));  // none by itself, either
  outputs_.clear();
  say(1, Contribution{1, 0, 0, "b", true});
  EXPECT_EQ(answer_to(1), answer);
}

TEST_F(LeaderExchangeTest, ANodeWithoutALinkIsToldWhenItGivesAgain) {
  run_two();
  say(0, Contribution{1, 0, 0, "a", true});
  leader_->on_link_closed(now_, link_of(0), "");
  say(1, Contribution{1, 0, 0, "b", true});
  EXPECT_TRUE(answer_to(1));
  EXPECT_FALSE(answer_to(0));
  Join again = join_of(0);
  again.last_round = report_of(0, 1);
  again.last_round->workers = true;
  join(0, again);
  say(0, Contribution{1, 0, 0, "a", true});
  EXPECT_EQ(answer_to(0), answer_to(1));
}

TEST_F(LeaderExchangeTest, WhatOneRoundGaveIsNothingInTheNext) {
  run_two();
  say(0, Contribution{1, 0, 0, "a", true});
  say(0, failure(1));
  say(0, Stopped{1});
  say(1, Stopped{1});
  ASSERT_EQ(sent<Assign>(0)->round, 2u);
  say(1, Contribution{1, 0, 0, "late", true});
  say(1, Contribution{2, 0, 0, "b", true});
  EXPECT_FALSE(answer_to(1));
  say(0, Contribution{2, 0, 0, "c", true});
  EXPECT_EQ(answer_to(1)->at(0).data, std::string("\0\0\0\1c\0\0\0\1b", 10));
  EXPECT_EQ(answer_to(1)->at(0).round, 2U);
}

}  // namespace
}  // namespace muster::rendezvous
