// What a member does with workers that may start again alone: it asks the leader for each.
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using member_output::RestartAlone;

class LoneEndTest : public testing::MemberFixture {
 protected:
  LoneEndTest() {
    begin(std::nullopt);
    welcome();
    run_round(1);
  }
  void fail(int rank) { member_->on_word(now_, 1, LoneEnd{rank, "exit code 3"}); }
  void answer(int rank, uint64_t sequence, bool restart, int charged = 0) {
    MayRestart verdict{1, sequence, rank, restart, 20, "restart 1 of 2 in 0.02 s", {}};
    verdict.budget.restarts_charged = charged;
    member_->on_message(now_, 0, verdict);
  }
  size_t asked(uint64_t sequence) {
    (void)sent<LoneFailure>();
    return static_cast<size_t>(std::ranges::count_if(outputs_, [sequence](const auto& output) {
      const auto* send = std::get_if<member_output::Send>(&output);
      const auto* lone = send != nullptr ? std::get_if<LoneFailure>(&send->message) : nullptr;
      return lone != nullptr && lone->sequence == sequence;
    }));
  }
};

TEST_F(LoneEndTest, OneQuestionFollowsTheAnswerToTheOther) {
  fail(4);
  fail(5);
  EXPECT_EQ(sent<LoneFailure>()->rank, 4);
  EXPECT_EQ(asked(2), 0U);
  answer(4, 1, true);
  const auto first = output<RestartAlone>();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->failed.rank, 4);
  EXPECT_EQ(first->failed.reason, "exit code 3");
  EXPECT_TRUE(first->verdict.restart);
  EXPECT_EQ(sent<LoneFailure>()->rank, 5);
  EXPECT_EQ(sent<LoneFailure>()->sequence, 2U);
  answer(5, 2, false);
  EXPECT_FALSE(output<RestartAlone>()->verdict.restart);
  EXPECT_EQ(member_->state(), MemberState::kRunning);
}

TEST_F(LoneEndTest, AnAnswerToAnotherNodeTellsTheBudgetAlone) {
  fail(4);
  answer(9, 1, true, 3);
  EXPECT_FALSE(output<RestartAlone>());
  member_->on_link_closed(now_, 0);
  welcome();
  EXPECT_EQ(sent<Join>()->budget.restarts_charged, 3);
}

TEST_F(LoneEndTest, OnANewLinkItAsksAgainUntilThereIsAnAnswer) {
  fail(4);
  member_->on_link_closed(now_, 0);
  fail(5);  // nobody hears of it
  welcome();
  EXPECT_EQ(asked(1), 2U);
  answer(4, 1, true);
  EXPECT_EQ(output<RestartAlone>()->failed.rank, 4);
  outputs_.clear();
  answer(4, 1, true);  // once more
  EXPECT_FALSE(output<RestartAlone>());
  answer(5, 2, true);
  EXPECT_EQ(output<RestartAlone>()->failed.rank, 5);
}

TEST_F(LoneEndTest, AnotherRoundForgetsWhatWasAsked) {
  fail(4);
  member_->on_message(now_, 0, Stop{1, 0, "a node was lost"});
  member_->on_gone(now_, 1);
  run_round(2);
  outputs_.clear();
  answer(4, 1, true);
  EXPECT_FALSE(output<RestartAlone>());
  member_->on_word(now_, 2, LoneEnd{4, "exit code 3"});
  EXPECT_EQ(sent<LoneFailure>()->sequence, 1U);
  EXPECT_EQ(sent<LoneFailure>()->round, 2U);
}

}  // namespace
}  // namespace muster::rendezvous
