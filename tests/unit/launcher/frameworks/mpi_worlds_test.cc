#include "launcher/frameworks/mpi_worlds.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

// A script of which nothing is known. Its launchers report on lines 1 and 2, and are known by the
// processes 501 and 502; rank N of one reports on line 10 * launcher + N, each alone on its node.
class MpiWorldsTest : public ::testing::Test {
 protected:
  Status call(uint64_t line, const std::string& name = "mpirun") {
    return worlds_.launcher_began(
        now_, line,
        {.run_id = "job", .name = name, .round = 1, .pid = 500 + static_cast<uint32_t>(line)});
  }
  // `launcher` 0: one that reports nothing.
  Status begin(uint32_t launcher, uint32_t rank, uint32_t size = 2) {
    return worlds_.began(now_, 10 * launcher + rank,
                         {.run_id = "job",
                          .node = "node-" + std::to_string(rank + 1),
                          .round = 1,
                          .rank = rank,
                          .size = size,
                          .pid = 100 + rank,
                          .launcher = launcher == 0 ? 0 : 500 + launcher});
  }
  void begin_both(uint32_t launcher) {
    ASSERT_TRUE(begin(launcher, 0));
    ASSERT_TRUE(begin(launcher, 1));
  }
  void end(uint32_t launcher, uint32_t rank, const rsh::RankEnd& how = {}) {
    worlds_.ended(now_, 10 * launcher + rank, how);
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
  std::string failure() const { return text(worlds_.failure(now_)); }
  std::string objection() const { return text(worlds_.objection(now_)); }
  // Whether it is found to hang now, having written `bytes`.
  bool hangs(uint64_t line, uint64_t bytes = 7) {
    const auto lingering = worlds_.lingering(now_);
    const bool lingers = std::any_of(lingering.begin(), lingering.end(),
                                     [line](const auto& each) { return each.line == line; });
    return lingers && worlds_.hangs(now_, line, bytes);
  }

  TimePoint now_ = TimePoint() + 1000s;
  MpiWorlds worlds_{now_, {.launcher = "sh", .node = "node-1", .start_deadline = 60s}};
};

TEST_F(MpiWorldsTest, ACommandThatCallsNothingIsBelieved) {
  EXPECT_EQ(worlds_.next_deadline(), std::nullopt);
  now_ += 1h;
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(objection(), "");
  EXPECT_TRUE(worlds_.lingering(now_).empty());
}

TEST_F(MpiWorldsTest, EachLauncherMustStartItsRanksInTime) {
  now_ += 1h;
  ASSERT_TRUE(call(1));
  EXPECT_EQ(worlds_.next_deadline(), now_ + 60s);
  now_ += 60s;
  EXPECT_EQ(failure(), "mpirun: no rank began within 60 s");
  EXPECT_EQ(worlds_.failure(now_)->status.code, kExitUntruthful);
  ASSERT_TRUE(begin(1, 0));
  EXPECT_EQ(failure(), "mpirun: 1 of 2 ranks began within 60 s");
  ASSERT_TRUE(begin(1, 1));
  EXPECT_EQ(failure(), "");
}

TEST_F(MpiWorldsTest, OneThatEndedHasNoDeadline) {
  ASSERT_TRUE(call(1));
  worlds_.launcher_ended(now_, 1, {.code = 1});
  EXPECT_EQ(worlds_.next_deadline(), std::nullopt);
  now_ += 1h;
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldsTest, OneAfterTheOtherAndBesideEachOther) {
  ASSERT_TRUE(call(1));
  ASSERT_TRUE(call(2, "mpiexec"));
  begin_both(1);
  ASSERT_TRUE(begin(2, 0, 1));
  ASSERT_TRUE(worlds_.placement(20).has_value());
  EXPECT_EQ(worlds_.placement(20)->launcher, "mpiexec");
  EXPECT_EQ(worlds_.placement(20)->ranks, "1 rank on 1 node: node-1:1");
  EXPECT_EQ(worlds_.placement(11)->ranks, "2 ranks on 2 nodes: node-1:1, node-2:1");
  end(2, 0);
  worlds_.launcher_ended(now_, 2, {});
  end_both_well(1);
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_EQ(objection(), "");
  // The number of a process comes again.
  ASSERT_TRUE(call(1));
  begin_both(1);
  end_both_well(1);
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_EQ(objection(), "");
  EXPECT_EQ(worlds_.next_deadline(), std::nullopt);
}

TEST_F(MpiWorldsTest, WhoIsNotThereIsRefused) {
  ASSERT_TRUE(call(1));
  EXPECT_FALSE(call(1));
  EXPECT_FALSE(begin(2, 0));
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_FALSE(begin(1, 0));
}

TEST_F(MpiWorldsTest, AFailingRankOfAnyLauncherIsAFailure) {
  ASSERT_TRUE(call(1));
  ASSERT_TRUE(call(2));
  begin_both(1);
  begin_both(2);
  end(2, 1, {.signal = SIGKILL});
  EXPECT_EQ(failure(), "1: SIGKILL (killed from outside)");
}

TEST_F(MpiWorldsTest, ItIsOneThoughTheLauncherEndsBeforeItIsBelieved) {
  ASSERT_TRUE(call(1));
  begin_both(1);
  end(1, 1, {.code = 3});
  worlds_.launcher_ended(now_, 1, {.code = 3});
  EXPECT_EQ(worlds_.next_deadline(), now_ + kExitHeld);
  now_ += kExitHeld;
  EXPECT_EQ(failure(), "1: exit code 3 (user error)");
}

TEST_F(MpiWorldsTest, ARankThatEndsBeforeMpiIsMissedByThoseOfItsOwnLauncher) {
  ASSERT_TRUE(call(1));
  ASSERT_TRUE(call(2));
  begin_both(1);
  begin_both(2);
  worlds_.in_mpi(10);
  end(2, 1);
  EXPECT_EQ(failure(), "");
  end(1, 1);
  EXPECT_EQ(failure(),
            "1: it ended with exit code 0 and without MPI_Init, in which others wait for it (user "
            "error)");
}

TEST_F(MpiWorldsTest, A0ThatItsRanksContradictIsAFailureUnlessItIsExplainedSoon) {
  ASSERT_TRUE(call(1));
  begin_both(1);
  end(1, 0);
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(worlds_.next_deadline(), now_ + kVerdictDelay);
  now_ += kVerdictDelay;
  EXPECT_EQ(failure(), "mpirun: it ended with 0 while 1 of 2 ranks had not ended");
  EXPECT_EQ(objection(), failure());
  end(1, 1);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(worlds_.next_deadline(), std::nullopt);
}

TEST_F(MpiWorldsTest, A0WithoutAnyRankIsOneToo) {
  ASSERT_TRUE(call(1));
  worlds_.launcher_ended(now_, 1, {});
  now_ += kVerdictDelay;
  EXPECT_EQ(failure(), "mpirun: it ended with 0, but no rank began");
}

TEST_F(MpiWorldsTest, AnotherCodeIsTheCommandsBusiness) {
  ASSERT_TRUE(call(1));
  worlds_.launcher_ended(now_, 1, {.code = 1});
  ASSERT_TRUE(call(2));
  begin_both(2);
  end_both_well(2);
  worlds_.launcher_ended(now_, 2, {.signal = SIGTERM});
  now_ += 1h;
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldsTest, ALauncherThatStaysAndWritesNothingHangs) {
  ASSERT_TRUE(call(1));
  begin_both(1);
  end(1, 0);
  now_ += 1h;
  end(1, 1);
  EXPECT_EQ(worlds_.next_deadline(), now_ + kLauncherLinger);
  now_ += kLauncherLinger - 1ms;
  EXPECT_FALSE(hangs(1));
  now_ += 1ms;
  EXPECT_FALSE(hangs(1));
  EXPECT_EQ(worlds_.next_deadline(), now_ + kLauncherSilence);
  now_ += kLauncherSilence;
  EXPECT_FALSE(hangs(1, 8));  // it writes
  now_ += kLauncherSilence;
  EXPECT_TRUE(hangs(1, 8));
  EXPECT_FALSE(hangs(1, 8));
  EXPECT_EQ(worlds_.next_deadline(), std::nullopt);
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldsTest, OneHangsThoughAnotherOnesRanksRun) {
  ASSERT_TRUE(call(1));
  ASSERT_TRUE(call(2));
  begin_both(1);
  begin_both(2);
  end_both_well(1);
  now_ += kLauncherLinger;
  EXPECT_FALSE(hangs(1));
  now_ += kLauncherSilence;
  EXPECT_FALSE(hangs(2));
  EXPECT_TRUE(hangs(1));
}

TEST_F(MpiWorldsTest, OneWhoseReporterIsGoneWasKilled) {
  ASSERT_TRUE(call(1));
  begin_both(1);
  worlds_.lost(now_, 1);
  EXPECT_EQ(failure(), "");
  now_ += 1s;
  worlds_.lost(now_, 11);
  EXPECT_TRUE(worlds_.left_behind());
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(worlds_.next_deadline(), now_ + kUnexplained);
  now_ += kUnexplained;
  EXPECT_EQ(failure(), "1: SIGKILL (killed: mpirun had ended before it)");
}

TEST_F(MpiWorldsTest, WhatACommandLeavesBehindSpeaksAgainstIt) {
  ASSERT_TRUE(call(1));
  EXPECT_EQ(objection(), "sh: it ended with 0 while mpirun had not ended");
  begin_both(1);
  EXPECT_EQ(objection(), "sh: it ended with 0 while mpirun had not ended");
  worlds_.own_launcher_ended(now_);
  worlds_.lost(now_, 1);
  EXPECT_EQ(objection(), "sh: it ended with 0 while ranks of mpirun had not ended");
  worlds_.lost(now_, 10);
  EXPECT_TRUE(worlds_.left_behind());
  EXPECT_EQ(objection(), "0: SIGKILL (killed: sh had ended before it)");
}

TEST_F(MpiWorldsTest, ALauncherThatIsAboutToEndDoesNot) {
  ASSERT_TRUE(call(1));
  begin_both(1);
  end_both_well(1);
  EXPECT_EQ(objection(), "");
}

TEST_F(MpiWorldsTest, RanksOfLaunchersThatDoNotReportAreJudgedAlone) {
  begin_both(0);
  ASSERT_TRUE(call(1));
  begin_both(1);
  end_both_well(1);
  worlds_.launcher_ended(now_, 1, {});
  EXPECT_EQ(objection(), "sh: it ended with 0 while 2 of 2 ranks had not ended");
  end_both_well(0);
  EXPECT_TRUE(worlds_.own().all_ended_well());
  EXPECT_EQ(objection(), "");
}

// Muster's own, which is expected to start so many ranks.
TEST(MpiWorlds, TheRoundsOwnLauncherHangsLikeOthers) {
  TimePoint now = TimePoint() + 1000s;
  MpiWorlds worlds(now, {.launcher = "mpirun",
                         .node = "node-1",
                         .ranks_by_node = {{"node-1", 1}},
                         .start_deadline = 60s});
  EXPECT_EQ(worlds.next_deadline(), now + 60s);
  ASSERT_TRUE(worlds.began(now, 1, {.rank = 0, .size = 1}));
  EXPECT_FALSE(worlds.placement(1)->ranks.empty());
  worlds.ended(now, 1, {});
  now += kLauncherLinger;
  ASSERT_EQ(worlds.lingering(now).size(), 1U);
  EXPECT_EQ(worlds.lingering(now)[0].line, 0U);
  EXPECT_FALSE(worlds.hangs(now, 0, 1));
  now += kLauncherSilence;
  EXPECT_TRUE(worlds.hangs(now, 0, 1));
}

}  // namespace
}  // namespace muster::launcher
