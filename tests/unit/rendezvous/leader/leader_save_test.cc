// What a leader tells of those that save when it stops their round, and that it waits for them.
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

class LeaderSaveTest : public testing::LeaderFixture {
 protected:
  void leave(int index) { say(index, Leaving{"got SIGTERM", 20'000}); }
};

TEST_F(LeaderSaveTest, WhoeverStaysMakesThoseThatSaveWorthWaitingFor) {
  run_two();
  leave(1);
  say(0, failure(1));
  ASSERT_TRUE(sent<Stop>(1));
  EXPECT_FALSE(sent<Stop>(1)->all_leave);
  EXPECT_FALSE(sent<Stop>(1)->next_runs);
}

TEST_F(LeaderSaveTest, WhenAllLeaveNobodyIsWaitedForAlsoWhenThatComesLater) {
  for (const bool later : {false, true}) {
    run_two();
    leave(1);
    if (!later) leave(0);
    say(0, failure(1));
    say(0, Stopped{1});
    ASSERT_TRUE(sent<Stop>(1));
    EXPECT_EQ(sent<Stop>(1)->all_leave, !later);
    if (later) leave(0);
    EXPECT_TRUE(sent<Stop>(1)->all_leave);
    EXPECT_EQ(leader_->state(), LeaderState::kStopping);
    outputs_.clear();
  }
}

TEST_F(LeaderSaveTest, WhoLeftBeforeCountsAndWhoWasLostDoesNot) {
  for (const bool left : {true, false}) {
    run_two();
    if (left) leave(1);
    leave(0);
    say(1, Goodbye{"x"});
    ASSERT_TRUE(sent<Stop>(0));
    EXPECT_EQ(sent<Stop>(0)->all_leave, left);
    outputs_.clear();
  }
}

TEST_F(LeaderSaveTest, OfAnEarlierRoundNobodyIsCounted) {
  policy_.max_restarts = 9;
  run_two();
  leave(1);
  say(1, Stopped{1});
  say(1, Goodbye{"x"});
  say(0, Stopped{1});
  join(2);
  ASSERT_EQ(sent<Assign>(2)->round, 2u);
  for (const int node : {0, 2}) say(node, Started{2});
  leave(2);
  say(0, failure(2));
  ASSERT_TRUE(sent<Stop>(2));
  EXPECT_EQ(sent<Stop>(2)->round, 2u);
  EXPECT_FALSE(sent<Stop>(2)->all_leave);
}

TEST_F(LeaderSaveTest, TheNextRoundBeginsWhenTheLastOneHasSaved) {
  options_.min_nodes = 1;
  run_two();
  leave(1);
  say(0, failure(1));
  say(0, Stopped{1});
  pass(seconds(9), {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  say(1, Stopped{1});
  EXPECT_NE(leader_->state(), LeaderState::kStopping);
}

// Its leader is lost, and it comes to the next one: before there is a round, or beside one.
TEST_F(LeaderSaveTest, OfAFormerLeadersRoundWhoSavesIsWaitedForUnlessAnotherRuns) {
  for (const bool runs : {false, true}) {
    if (runs) {
      run_two();
    } else {
      lead();
    }
    Join saving = join_of(2);
    saving.last_round = report_of(1, 1);
    saving.last_round->term = 3;
    saving.last_round->workers = true;
    join(2, saving);
    ASSERT_TRUE(sent<Stop>(2));
    EXPECT_EQ(sent<Stop>(2)->next_runs, runs);
    EXPECT_FALSE(sent<Stop>(2)->all_leave);
    outputs_.clear();
  }
}

TEST_F(LeaderSaveTest, WhoSavedSucceededAndWentCountsOnce) {
  options_.max_nodes = 3;
  lead();
  for (const int node : {0, 1, 2}) join(node);
  for (const int node : {0, 1, 2}) say(node, Started{1});
  leave(2);
  say(2, Succeeded{1});
  say(2, Goodbye{"x"});
  leave(1);
  say(0, failure(1));
  ASSERT_TRUE(sent<Stop>(1));
  EXPECT_FALSE(sent<Stop>(1)->all_leave) << "node 0 stays";
}

// Their time is told already; to be told again would only disturb those who save.
TEST_F(LeaderSaveTest, WhoIsBeingStoppedIsNotToldToSave) {
  run_two();
  say(0, failure(1));
  ASSERT_EQ(leader_->state(), LeaderState::kStopping);
  leave(1);
  EXPECT_FALSE(sent<Notice>(0));
}

}  // namespace
}  // namespace muster::rendezvous
