#include "mpi/ranks/mpi_world.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::mpi {
namespace {

using namespace std::chrono_literals;

// A script of which nothing is known. It calls launchers that are the processes 501, 502, and so
// on; rank N of launcher L reports on line 10 * L + N, each rank alone on its node.
class MpiWorldTest : public ::testing::Test {
 protected:
  // `launcher` 0: the user himself has put `muster rank --` there.
  Result<RankPlace> try_begin(uint32_t launcher, uint32_t rank, uint32_t size = 2) {
    return world_.began(now_, 10 * launcher + rank,
                        {.run_id = "job",
                         .node = "node-" + std::to_string(rank + 1),
                         .round = 1,
                         .rank = rank,
                         .size = size,
                         .pid = 100 + rank,
                         .launcher = launcher == 0 ? 0 : 500 + launcher});
  }
  RankPlace begin(uint32_t launcher, uint32_t rank, uint32_t size = 2) {
    const auto place = try_begin(launcher, rank, size);
    EXPECT_TRUE(place) << (place ? "" : place.error().text);
    return place ? *place : RankPlace::kUnjudged;
  }
  void begin_both(uint32_t launcher) {
    ASSERT_EQ(begin(launcher, 0), RankPlace::kJudged);
    ASSERT_EQ(begin(launcher, 1), RankPlace::kJudged);
  }
  void end(uint32_t launcher, uint32_t rank, const rsh::RankEnd& how = {}) {
    world_.ranks().ended(now_, 10 * launcher + rank, how);
  }
  void end_both_well(uint32_t launcher) {
    end(launcher, 0);
    end(launcher, 1);
  }
  // The reason of what has failed, of a rank with its number; "" = nothing.
  static std::string text(const std::optional<elastic::FailureRecord>& record) {
    if (!record) return "";
    return (record->rank == elastic::kNoRank ? "" : std::to_string(record->rank) + ": ") +
           record->reason;
  }
  std::string failure() const { return text(world_.ranks().failure(now_)); }
  std::string objection() const { return text(world_.ranks().objection(now_)); }

  TimePoint now_ = TimePoint() + 1000s;
  MpiWorld world_{now_,
                  {.launcher = "sh", .node = "node-1", .by_command = true, .start_deadline = 60s}};
};

TEST_F(MpiWorldTest, ACommandThatCallsNothingIsBelieved) {
  EXPECT_EQ(world_.next_deadline(), std::nullopt);
  now_ += 1h;
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(objection(), "");
  EXPECT_FALSE(world_.lingers(now_));
}

TEST_F(MpiWorldTest, TheRanksOfALauncherMustAllBeginInTimeAfterTheFirst) {
  now_ += 1h;
  begin(1, 0);
  EXPECT_EQ(world_.next_deadline(), now_ + 60s);
  now_ += 60s;
  EXPECT_EQ(failure(), "sh: 1 of 2 ranks began within 60 s");
  EXPECT_EQ(world_.ranks().failure(now_)->status.code, kExitUntruthful);
  begin(1, 1);
  EXPECT_EQ(failure(), "");
}

TEST_F(MpiWorldTest, OneLauncherMayFollowAnother) {
  for (uint32_t launcher = 1; launcher <= 2; ++launcher) {
    begin_both(launcher);
    EXPECT_EQ(world_.ranks().placement(), "2 ranks on 2 nodes: node-1:1, node-2:1");
    end_both_well(launcher);
    EXPECT_EQ(objection(), "");
    EXPECT_EQ(world_.next_deadline(), std::nullopt);
  }
  // With another number of ranks.
  EXPECT_EQ(begin(3, 0, 1), RankPlace::kJudged);
  EXPECT_EQ(objection(), "sh: it ended with 0 while 1 of 1 ranks had not ended");
  end(3, 0, {.code = 3});
  EXPECT_EQ(failure(), "0: exit code 3 (user error)");
}

TEST_F(MpiWorldTest, ARankMayEndBeforeTheNextOneOfItsLauncherBegins) {
  begin(1, 0);
  end(1, 0);
  begin(1, 1);
  EXPECT_EQ(objection(), "sh: it ended with 0 while 1 of 2 ranks had not ended");
  end(1, 1);
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldTest, ALauncherBesideAnotherOneIsNotJudged) {
  begin_both(1);
  EXPECT_EQ(begin(2, 0), RankPlace::kFirstUnjudged);
  EXPECT_EQ(begin(2, 1), RankPlace::kUnjudged);
  EXPECT_EQ(begin(3, 0), RankPlace::kFirstUnjudged);
  end(2, 0, {.signal = SIGKILL});
  world_.ranks().lost(now_, 21);
  EXPECT_EQ(failure(), "");
  end(1, 1, {.signal = SIGKILL});
  EXPECT_EQ(failure(), "1: SIGKILL (killed from outside)");
}

// They would be taken for all that it starts.
TEST_F(MpiWorldTest, NeitherAreThoseOfItsRanksThatBeginWhenTheFirstLauncherHasEnded) {
  begin_both(1);
  EXPECT_EQ(begin(2, 0), RankPlace::kFirstUnjudged);
  end_both_well(1);
  EXPECT_EQ(begin(2, 1), RankPlace::kUnjudged);
  begin_both(3);
  end_both_well(3);
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldTest, AFailureIsNotForgottenBecauseTheNextLauncherBegins) {
  begin_both(1);
  end(1, 1, {.code = 3});
  EXPECT_EQ(begin(2, 0), RankPlace::kFirstUnjudged);
  now_ += kExitHeld;
  EXPECT_EQ(failure(), "1: exit code 3 (user error)");
}

TEST_F(MpiWorldTest, ARankThatEndsBeforeMpiIsMissedByTheOthers) {
  begin_both(1);
  world_.ranks().in_mpi(10);
  end(1, 1);
  EXPECT_EQ(failure(),
            "1: it ended with exit code 0 and without MPI_Init, in which others wait for it (user "
            "error)");
}

TEST_F(MpiWorldTest, ALauncherOfACommandIsNeverFoundToHang) {
  begin_both(1);
  end_both_well(1);
  now_ += 1h;
  EXPECT_FALSE(world_.lingers(now_));
  EXPECT_EQ(world_.next_deadline(), std::nullopt);
  EXPECT_EQ(failure(), "");
}

TEST_F(MpiWorldTest, WhatACommandLeavesBehindSpeaksAgainstIt) {
  begin_both(1);
  EXPECT_EQ(objection(), "sh: it ended with 0 while 2 of 2 ranks had not ended");
  world_.ranks().launcher_ended(now_);
  world_.ranks().lost(now_, 10);
  EXPECT_TRUE(world_.ranks().left_behind());
  EXPECT_EQ(objection(), "0: SIGKILL (killed: sh had ended before it)");
}

// Then nobody knows how many there should be, and whose they are.
TEST_F(MpiWorldTest, LaunchersThatHaveNoNumberFollowEachOtherAsWell) {
  begin(0, 0);
  end(0, 0);
  begin_both(0);
  EXPECT_EQ(begin(0, 0), RankPlace::kFirstUnjudged);
  EXPECT_EQ(begin(0, 1), RankPlace::kUnjudged);
  EXPECT_EQ(objection(), "sh: it ended with 0 while 2 of 2 ranks had not ended");
  end_both_well(0);
  EXPECT_EQ(objection(), "");
  begin_both(0);
  end(0, 1, {.signal = SIGKILL});
  EXPECT_EQ(failure(), "1: SIGKILL (killed from outside)");
}

// Muster's own, which is expected to start so many ranks.
class OwnMpiWorldTest : public ::testing::Test {
 protected:
  void end_after(Duration time) {
    ASSERT_TRUE(world_.began(now_, 1, {.rank = 0, .size = 1}));
    now_ += time;
    world_.ranks().ended(now_, 1, {});
  }

  TimePoint now_ = TimePoint() + 1000s;
  MpiWorld world_{now_,
                  {.launcher = "mpirun",
                   .node = "node-1",
                   .ranks_by_node = {{"node-1", 1}},
                   .start_deadline = 60s}};
};

TEST_F(OwnMpiWorldTest, ALauncherThatStaysAndWritesNothingHangs) {
  EXPECT_EQ(world_.next_deadline(), now_ + 60s);
  end_after(1h);
  EXPECT_EQ(world_.next_deadline(), now_ + kLauncherLinger);
  EXPECT_FALSE(world_.lingers(now_ + kLauncherLinger - 1ms));
  now_ += kLauncherLinger;
  ASSERT_TRUE(world_.lingers(now_));
  EXPECT_FALSE(world_.hangs(now_, 7));
  EXPECT_EQ(world_.next_deadline(), now_ + kLauncherSilence);
  now_ += kLauncherSilence;
  EXPECT_FALSE(world_.hangs(now_, 8));  // it writes
  now_ += kLauncherSilence;
  EXPECT_TRUE(world_.hangs(now_, 8));
  EXPECT_FALSE(world_.lingers(now_));
  EXPECT_EQ(world_.next_deadline(), std::nullopt);
}

TEST_F(OwnMpiWorldTest, OneThatHasEndedDoesNot) {
  end_after(1s);
  world_.ranks().launcher_ended(now_);
  EXPECT_FALSE(world_.lingers(now_ + 1h));
  EXPECT_EQ(world_.next_deadline(), std::nullopt);
}

// It has one launcher, and a second rank of the same number is none of its.
TEST_F(OwnMpiWorldTest, ARankWithoutAPlaceIsRefused) {
  end_after(1s);
  EXPECT_FALSE(world_.began(now_, 2, {.rank = 0, .size = 1}));
  EXPECT_FALSE(world_.began(now_, 2, {.rank = 1, .size = 2}));
}

}  // namespace
}  // namespace muster::mpi
