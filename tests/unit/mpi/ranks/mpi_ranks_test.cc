#include "mpi/ranks/mpi_ranks.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::mpi {
namespace {

using namespace std::chrono_literals;

// Two nodes with a rank each; line N is rank N's.
class MpiRanksTest : public ::testing::Test {
 protected:
  static MpiExpectation expected() {
    return {.launcher = "mpirun",
            .node = "node-1",
            .ranks_by_node = {{"node-1", 1}, {"node-2", 1}},
            .start_deadline = 60s,
            .attempt = 2};
  }
  Status begin(uint32_t rank, uint32_t size = 2) {
    return ranks_.began(now_, rank,
                        {.run_id = "job",
                         .node = rank == 0 ? "" : "node-" + std::to_string(rank + 1),
                         .round = 1,
                         .rank = rank,
                         .size = size,
                         .pid = 100 + rank});
  }
  // What is known to have failed then.
  std::optional<elastic::FailureRecord> end(uint64_t rank, const rsh::RankEnd& how) {
    ranks_.ended(now_, rank, how);
    return ranks_.failure(now_);
  }
  int failed_rank() const {
    const auto record = ranks_.failure(now_);
    return record ? record->rank : -9;
  }
  void begin_both() {
    ASSERT_TRUE(begin(0).has_value());
    ASSERT_TRUE(begin(1).has_value());
  }

  TimePoint now_ = TimePoint() + 1000s;
  MpiRanks ranks_{now_, expected()};
};

TEST_F(MpiRanksTest, AJobWhoseRanksAllEndedWellHasSucceeded) {
  EXPECT_FALSE(ranks_.placement().has_value());
  begin_both();
  EXPECT_EQ(ranks_.placement(), "2 ranks on 2 nodes: node-1:1, node-2:1");
  EXPECT_FALSE(end(0, {}).has_value());
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_FALSE(ranks_.objection(now_).has_value());
}

TEST_F(MpiRanksTest, ARankWhoseContainerWasShortOfSomethingDidNotLoseAnother) {
  begin_both();
  const auto record = end(1, {.code = 14, .aborted = true, .shortage = "/dev/shm has only 1 MiB"});
  const auto later = record ? record : ranks_.failure(now_ + 10s);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->reason, "MPI_Abort with code 14; /dev/shm has only 1 MiB");
  EXPECT_EQ(later->failure_class, elastic::FailureClass::kInfrastructure);
}

TEST_F(MpiRanksTest, TheOomKillerIsNamed) {
  begin_both();
  const auto record = end(1, {.signal = SIGKILL, .out_of_memory = true, .shortage = "ended 1"});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->failure_class, elastic::FailureClass::kOutOfMemory);
}

TEST_F(MpiRanksTest, ARankThatIsKilledOrCrashesIsAFailureAtOnce) {
  begin_both();
  now_ += 3s;
  const auto record = end(1, {.signal = SIGKILL});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->rank, 1);
  EXPECT_EQ(record->node, "node-2");
  EXPECT_EQ(record->pid, 101);
  EXPECT_EQ(record->status.signal, SIGKILL);
  EXPECT_EQ(record->alive, 3s);
  EXPECT_EQ(record->attempt, 2);
  EXPECT_EQ(record->reason, "SIGKILL (killed from outside)");
}

TEST_F(MpiRanksTest, ARankThatEndsWithoutMpiIsMissedByThoseWhoHaveBegunWithIt) {
  for (const bool ends_first : {true, false}) {
    ranks_ = MpiRanks(now_, expected());
    begin_both();
    if (!ends_first) ranks_.in_mpi(0);
    EXPECT_EQ(end(1, {}).has_value(), !ends_first);
    ranks_.in_mpi(0);
    EXPECT_EQ(ranks_.next_deadline(), now_);
    const auto record = ranks_.failure(now_);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->rank, 1);
    EXPECT_EQ(record->status.code, 1);
    EXPECT_NE(record->reason.find("without MPI_Init"), std::string::npos) << record->reason;
  }
}

TEST_F(MpiRanksTest, ARankThatLeftMpiIsNotMissedInIt) {
  begin_both();
  ranks_.in_mpi(1);
  ranks_.in_mpi(0);
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_FALSE(end(0, {}).has_value());
}

// Two launchers of one script, beside each other.
TEST_F(MpiRanksTest, WhereAScriptStartsThemNobodyKnowsWhoBelongsTogether) {
  ranks_ = MpiRanks(now_, {.launcher = "sh", .node = "node-1", .start_deadline = 60s});
  begin_both();
  ranks_.in_mpi(0);
  EXPECT_FALSE(end(1, {}).has_value());
}

TEST_F(MpiRanksTest, AnExitCodeIsBelievedWhenNoOtherEndHasExplainedIt) {
  begin_both();
  EXPECT_FALSE(end(1, {.code = 3}).has_value());
  EXPECT_EQ(ranks_.own_end()->rank, 1);
  EXPECT_EQ(ranks_.next_deadline(), now_ + kExitHeld);
  EXPECT_FALSE(ranks_.failure(now_ + kExitHeld - 1ms).has_value());
  const auto record = ranks_.failure(now_ + kExitHeld);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->rank, 1);
  EXPECT_EQ(record->reason, "exit code 3 (user error)");
  EXPECT_EQ(record->noticed, now_);
}

// As Open MPI 5: the peer misses the connection and aborts before anybody has said that a rank was
// killed.
TEST_F(MpiRanksTest, ARankThatWasKilledExplainsAnExitThatWasToldBefore) {
  for (const rsh::RankEnd& how :
       {rsh::RankEnd{.signal = SIGKILL}, rsh::RankEnd{.signal = SIGSEGV}}) {
    ranks_ = MpiRanks(now_, expected());
    begin_both();
    EXPECT_FALSE(end(0, {.code = 14}).has_value());
    now_ += kExitHeld - 1ms;
    EXPECT_EQ(end(1, how)->rank, 1);
    EXPECT_EQ(ranks_.own_end()->rank, 1);
    EXPECT_EQ(ranks_.objection(now_)->rank, 1);
  }
}

TEST_F(MpiRanksTest, OfExitsAndAbortsTheFirstIsTheCause) {
  for (const rsh::RankEnd& later : {rsh::RankEnd{.code = 14}, rsh::RankEnd{.signal = SIGABRT}}) {
    ranks_ = MpiRanks(now_, expected());
    begin_both();
    EXPECT_FALSE(end(1, {.code = 3}).has_value());
    now_ += 1ms;
    EXPECT_EQ(end(0, later)->rank, 1);  // at once, for all have ended
  }
}

TEST_F(MpiRanksTest, WhoWasToldToEndOrLostItsReportExplainsNoExit) {
  begin_both();
  EXPECT_FALSE(end(0, {.signal = SIGTERM, .told = SIGTERM}).has_value());
  now_ += 1ms;
  EXPECT_EQ(end(1, {.code = 3})->rank, 1);
  ranks_ = MpiRanks(now_, expected());
  begin_both();
  ranks_.lost(now_, 0);
  EXPECT_EQ(failed_rank(), -9);
  EXPECT_FALSE(ranks_.own_end().has_value());
  EXPECT_EQ(end(1, {.code = 3})->rank, 1);
}

TEST_F(MpiRanksTest, WhoIsLostAfterItsLauncherEndedWasLeftBehind) {
  begin_both();
  ranks_.lost(now_, 0);
  EXPECT_FALSE(ranks_.left_behind());
  ranks_.launcher_ended(now_ += 1ms);
  const auto record = ranks_.objection(now_);
  EXPECT_EQ(record->reason, "SIGKILL (killed: its report broke off)");
  EXPECT_TRUE(record->presumed);
  ranks_ = MpiRanks(now_, expected());
  begin_both();
  ranks_.launcher_ended(now_);
  ranks_.lost(now_ + 1ms, 1);
  EXPECT_TRUE(ranks_.left_behind());
  EXPECT_EQ(ranks_.objection(now_ + 1ms)->reason, "SIGKILL (killed: mpirun had ended before it)");
}

// By the sweep after its launcher, which may reach a rank before its `muster rank`.
TEST_F(MpiRanksTest, WhoIsKilledAfterItsLauncherEndedWasLeftBehind) {
  begin_both();
  ranks_.launcher_ended(now_);
  EXPECT_FALSE(end(1, {.signal = SIGKILL}).has_value());
  EXPECT_TRUE(ranks_.left_behind());
  EXPECT_EQ(end(0, {.code = 3})->rank, 0);
}

TEST_F(MpiRanksTest, ARankThatIsStillToComeMayBeTheCauseToo) {
  ASSERT_TRUE(begin(0).has_value());
  EXPECT_FALSE(end(0, {.code = 5}).has_value());
  EXPECT_EQ(ranks_.next_deadline(), now_ + kExitHeld);
}

// Open MPI 5: the peer of the rank that exits aborts, and its report overtakes the other's.
TEST_F(MpiRanksTest, ACodeThatTellsOfALostRankYieldsToEveryOtherEnd) {
  const rsh::RankEnd left{.without_finalize = true};
  for (const rsh::RankEnd& cause :
       {rsh::RankEnd{.code = 3}, rsh::RankEnd{.signal = SIGABRT}, left}) {
    ranks_ = MpiRanks(now_, expected());
    begin_both();
    EXPECT_FALSE(end(0, {.code = 14}).has_value());
    EXPECT_EQ(ranks_.next_deadline(), now_ + kLostRankHeld);
    now_ += kLostRankHeld - 1ms;
    EXPECT_EQ(end(1, cause)->rank, 1);  // at once, for all have ended
    EXPECT_EQ(ranks_.own_end()->rank, 1);
    EXPECT_EQ(ranks_.objection(now_)->rank, 1);
  }
}

TEST_F(MpiRanksTest, ALostRankThatNothingExplainsIsTheFailure) {
  begin_both();
  EXPECT_FALSE(end(0, {.code = 14}).has_value());
  EXPECT_FALSE(ranks_.failure(now_ + kLostRankHeld - 1ms).has_value());
  const auto record = ranks_.failure(now_ + kLostRankHeld);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->status.code, 14);
  EXPECT_EQ(record->reason,
            "exit code 14 (user error), as Open MPI does when it loses another rank");
  // Those whom the launcher ends are none: it is not waited for more.
  EXPECT_EQ(end(1, {.signal = SIGTERM, .told = SIGTERM})->rank, 0);
}

// Open MPI does not say that a rank left without MPI_Finalize, but its launcher may.
TEST_F(MpiRanksTest, WhoEndedWith0BeforeOthersMayHaveLeftThem) {
  begin_both();
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_EQ(ranks_.left_early()->rank, 1);  // to whom asks, while rank 0 runs
  EXPECT_EQ(ranks_.left_early()->status.code, 1);
  now_ += 1ms;
  EXPECT_FALSE(end(0, {.code = 14}).has_value());
  EXPECT_EQ(ranks_.left_early()->reason,
            "it left with exit code 0 and without MPI_Finalize (user error)");
  EXPECT_EQ(ranks_.own_end()->rank, 0);  // to whom knows nothing of it
  EXPECT_EQ(ranks_.next_deadline(), now_ + kUnexplained);
  EXPECT_EQ(ranks_.failure(now_ + kUnexplained)->rank, 0);
}

TEST_F(MpiRanksTest, NobodyLeftEarlyWhereAllEndedWellOrOneFailedByItself) {
  begin_both();
  EXPECT_FALSE(ranks_.left_early().has_value());
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_EQ(end(0, {.code = 3})->rank, 0);
  EXPECT_FALSE(ranks_.left_early().has_value());
  ranks_ = MpiRanks(now_, expected());
  begin_both();
  for (const uint64_t rank : {0U, 1U}) ranks_.ended(now_, rank, {});
  EXPECT_FALSE(ranks_.left_early().has_value());
}

TEST_F(MpiRanksTest, ThatACodeTellsOfALostRankDependsOnTheMpi) {
  auto of_mpich = expected();
  of_mpich.mpi = Implementation::kMpich;
  ranks_ = MpiRanks(now_, of_mpich);
  begin_both();
  EXPECT_FALSE(end(0, {.code = 14}).has_value());
  EXPECT_EQ(end(1, {.code = 3})->rank, 0);
}

TEST_F(MpiRanksTest, LeavingWithoutFinalizeIsAFailureThoughItSays0) {
  begin_both();
  EXPECT_FALSE(end(1, {.without_finalize = true}).has_value());
  const auto record = ranks_.failure(now_ + kExitHeld);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->status.code, 1);
  EXPECT_NE(record->reason.find("without MPI_Finalize"), std::string::npos);
}

TEST_F(MpiRanksTest, AnAbortIsAFailureWithWhateverCode) {
  for (const int code : {7, 0}) {
    ranks_ = MpiRanks(now_, expected());
    begin_both();
    EXPECT_FALSE(end(1, {.code = static_cast<uint8_t>(code), .aborted = true}).has_value());
    const auto record = ranks_.failure(now_ + kExitHeld);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->rank, 1);
    EXPECT_EQ(record->status.code, code == 0 ? 1 : code);
    EXPECT_EQ(record->reason,
              code == 0 ? "MPI_Abort with code 0 or a multiple of 256" : "MPI_Abort with code 7");
  }
}

TEST_F(MpiRanksTest, WhoWasToldToEndByTheLauncherIsNoCauseUntilNothingElseIs) {
  begin_both();
  EXPECT_FALSE(end(1, {.signal = SIGTERM, .told = SIGTERM}).has_value());
  EXPECT_EQ(ranks_.next_deadline(), now_ + kUnexplained);
  EXPECT_FALSE(ranks_.failure(now_ + 9s).has_value());
  const auto record = ranks_.failure(now_ + kUnexplained);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->reason, "SIGTERM (killed from outside), after SIGTERM from its launcher");
  EXPECT_EQ(ranks_.objection(now_)->rank, 1);
}

// MPI_Abort(comm, 256) under Open MPI.
TEST_F(MpiRanksTest, WhoEndedWith0BeforeItsLauncherToldTheOthersIsTheCauseThoughThatSays0) {
  begin_both();
  EXPECT_FALSE(end(1, {}).has_value());
  now_ += 10ms;
  EXPECT_FALSE(end(0, {.signal = SIGTERM, .told = SIGTERM}).has_value());
  const auto objection = ranks_.objection(now_);
  ASSERT_TRUE(objection.has_value());
  EXPECT_EQ(objection->rank, 1);
  EXPECT_EQ(objection->status.code, 1);
  EXPECT_EQ(objection->reason, "it left with exit code 0 and without MPI_Finalize (user error)");
}

TEST_F(MpiRanksTest, AReportThatBreaksOffIsAKilledRankUnlessExplained) {
  begin_both();
  ranks_.lost(now_, 1);
  EXPECT_FALSE(ranks_.failure(now_).has_value());
  EXPECT_EQ(ranks_.failure(now_ + kUnexplained)->status.signal, SIGKILL);
  EXPECT_EQ(ranks_.objection(now_)->status.signal, SIGKILL);
}

TEST_F(MpiRanksTest, AnEndThatWasToldIsNotLostAfterwards) {
  begin_both();
  EXPECT_FALSE(end(0, {}).has_value());
  EXPECT_FALSE(end(1, {}).has_value());
  ranks_.lost(now_, 1);
  EXPECT_FALSE(ranks_.objection(now_).has_value());
}

TEST_F(MpiRanksTest, ALauncherThatStartedTooFewIsNotBelieved) {
  ASSERT_TRUE(begin(0).has_value());
  EXPECT_FALSE(end(0, {}).has_value());
  const auto record = ranks_.objection(now_);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->rank, elastic::kNoRank);
  EXPECT_EQ(record->status.code, kExitUntruthful);
  EXPECT_EQ(record->reason,
            "mpirun: it ended with 0, but 1 of 2 ranks were started, none or too few on node-2: it "
            "does not use the job's nodes");
}

TEST_F(MpiRanksTest, AllRanksOnOneNodeIsAFailureAtOnce) {
  for (const uint32_t rank : {0U, 1U}) {
    const rsh::Rank here = {.run_id = "job", .node = "node-1", .round = 1, .rank = rank, .size = 2};
    ASSERT_TRUE(ranks_.began(now_, rank, here).has_value());
  }
  ASSERT_TRUE(ranks_.next_deadline().has_value());
  EXPECT_LE(*ranks_.next_deadline(), now_);
  const auto record = ranks_.failure(now_);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->status.code, kExitUntruthful);
  EXPECT_EQ(
      record->reason,
      "mpirun: it started all 2 ranks, none or too few of them on node-2: it does not use the "
      "job's nodes");
  // They may be over before anybody looks.
  for (const uint64_t rank : {0U, 1U}) ranks_.ended(now_, rank, {});
  EXPECT_TRUE(ranks_.objection(now_).has_value());
}

TEST_F(MpiRanksTest, ALauncherThatEndedBeforeItsRanksIsNotBelieved) {
  begin_both();
  EXPECT_FALSE(end(0, {}).has_value());
  EXPECT_EQ(ranks_.objection(now_)->reason,
            "mpirun: it ended with 0 while 1 of 2 ranks had not ended");
}

TEST_F(MpiRanksTest, RanksThatDoNotBeginAreMissedAfterTheDeadline) {
  ASSERT_TRUE(begin(0).has_value());
  EXPECT_EQ(ranks_.next_deadline(), now_ + 60s);
  EXPECT_FALSE(ranks_.failure(now_ + 59s).has_value());
  EXPECT_EQ(ranks_.failure(now_ + 60s)->reason,
            "mpirun: 1 of 2 ranks began within 60 s; missing on node-2");
}

TEST_F(MpiRanksTest, ALauncherThatStaysAfterItsRanksLingers) {
  begin_both();
  EXPECT_FALSE(end(0, {}).has_value());
  EXPECT_EQ(ranks_.launcher_lingers_at(), std::nullopt);
  now_ += 1s;
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_EQ(ranks_.launcher_lingers_at(), now_ + kLauncherLinger);
  ranks_.launcher_ended(now_);
  EXPECT_EQ(ranks_.launcher_lingers_at(), std::nullopt);
}

TEST_F(MpiRanksTest, RanksThatOthersStartAreAWorldOfTheirOwn) {
  begin_both();
  const auto spawned = [this](uint64_t line, uint32_t rank) {
    return ranks_.began(
        now_, line,
        {.run_id = "job", .node = "node-2", .round = 1, .rank = rank, .size = 3, .world = 1});
  };
  EXPECT_TRUE(spawned(7, 0));
  EXPECT_FALSE(spawned(8, 0));  // twice
  EXPECT_EQ(ranks_.placement(), "2 ranks on 2 nodes: node-1:1, node-2:1");
  const auto failed = end(7, {.code = 3, .signal = SIGSEGV});
  ASSERT_TRUE(failed.has_value());
  EXPECT_NE(failed->reason.find("MPI_Comm_spawn"), std::string::npos);
}

TEST_F(MpiRanksTest, ALauncherWithRanksThatDoNotReportMayStay) {
  begin_both();
  EXPECT_FALSE(end(0, {.has_spawned = true}).has_value());
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_EQ(ranks_.launcher_lingers_at(), std::nullopt);
}

TEST_F(MpiRanksTest, ARecordHasTheLastLinesAndTheFolderOfItsRank) {
  begin_both();
  const auto failed = end(1, {.signal = SIGSEGV, .logs = "/logs/1", .last_lines = "one\ntwo"});
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->logs, "/logs/1");
  EXPECT_EQ(failed->last_lines, (std::vector<std::string>{"one", "two"}));
}

TEST_F(MpiRanksTest, StrangersAreRefused) {
  begin_both();
  EXPECT_EQ(begin(0).error().text, "rank 0 reports twice");
  EXPECT_EQ(ranks_.began(now_, 9, {.node = "node-9", .rank = 2, .size = 2}).error().text,
            "no node node-9 in this round");
  MpiRanks alone(now_, expected());
  EXPECT_EQ(alone.began(now_, 1, {.rank = 0, .size = 1}).error().text,
            "rank 0 was started in a world of 1 ranks, this job has 2");
}

TEST_F(MpiRanksTest, TheFirstRankOfTheUsersOwnLauncherTellsHowManyThereAre) {
  MpiExpectation own = expected();
  own.ranks_by_node.clear();
  own.all_report = true;
  ranks_ = MpiRanks(now_, own);
  EXPECT_EQ(ranks_.objection(now_)->reason, "mpirun: it ended with 0, but no rank began");
  EXPECT_EQ(ranks_.failure(now_ + 60s)->reason, "mpirun: no rank began within 60 s");
  ASSERT_TRUE(begin(0, 2).has_value());
  EXPECT_FALSE(begin(1, 3).has_value());
  EXPECT_FALSE(ranks_.placement().has_value());
  EXPECT_EQ(ranks_.objection(now_)->reason, "mpirun: it ended with 0, but 1 of 2 ranks began");
  EXPECT_EQ(ranks_.failure(now_ + 60s)->reason, "mpirun: 1 of 2 ranks began within 60 s");
  ASSERT_TRUE(begin(1, 2).has_value());
  EXPECT_EQ(ranks_.placement(), "2 ranks on 2 nodes: node-1:1, node-2:1");
  EXPECT_FALSE(end(0, {}).has_value());
  EXPECT_FALSE(end(1, {}).has_value());
  EXPECT_FALSE(ranks_.objection(now_).has_value());
  EXPECT_EQ(ranks_.launcher_lingers_at(), now_ + kLauncherLinger);
}

TEST_F(MpiRanksTest, NothingIsExpectedOfTheUsersOwnLauncher) {
  MpiExpectation any = expected();
  any.ranks_by_node.clear();
  MpiRanks ranks(now_, any);
  EXPECT_FALSE(ranks.next_deadline().has_value());
  EXPECT_FALSE(ranks.failure(now_ + 600s).has_value());
  EXPECT_FALSE(ranks.objection(now_).has_value());
  EXPECT_EQ(ranks.launcher_lingers_at(), std::nullopt);
}

}  // namespace
}  // namespace muster::mpi
