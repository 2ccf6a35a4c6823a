#include "launcher/workers/local_group.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include "launcher/report/exit_codes.h"
#include "tests/support/agent_rig.h"
#include "tests/support/fake_driver.h"

namespace muster::launcher {
namespace {

using elastic::FailureClass;
using elastic::GroupState;
using muster::testing::DriverScript;
using muster::testing::FakeDriver;
using Calls = std::vector<std::string>;

class LocalGroupTest : public AgentRig {
 protected:
  Status open(Words words) {
    give(std::move(words));
    context_.emplace(context());
    driver_.emplace(script_);
    group_.emplace(
        doors(), *context_, *driver_,
        LocalGroupCallbacks{
            .round = [this]() -> Result<rendezvous::Assign> { return round_; },
            .started = [this] { ++started_; },
            .failed = [this](const auto& record, bool) { failed_.push_back(record); },
            .failed_alone =
                [this](int local_rank, const std::string&) {
                  group_->resolve(local_rank, alone_, "1 of 1");
                },
            .decide = [this] { restarts_-- > 0 ? group_->restart(pause_) : group_->restart({}); },
            .saved = [this] { ++saved_; },
            .finished = [this] { ++finished_; }});
    return group_->open();
  }
  void start(Words words) {
    const Status opened = open(std::move(words));
    ASSERT_TRUE(opened) << opened.error().text;
    const int workers = group_->plan().local_world_size();
    if (round_.world_size < workers) round_.world_size = workers;
    group_->start(0);
    idle();
  }
  void reap() {
    (void)group_->handle_signal({.number = SIGCHLD});
    idle();
  }
  void end(pid_t pid, ExitStatus status) {
    processes_.end(pid, status);
    reap();
  }
  void end_rest(ExitStatus status) {
    end_all(status);
    reap();
  }

  static constexpr pid_t kLeft = 900;
  static constexpr pid_t kHelper = 901;
  DriverScript script_;
  rendezvous::Assign round_;
  int restarts_ = 0;
  Duration pause_ = Duration::zero();
  std::optional<Duration> alone_;  // before one worker starts again
  int started_ = 0;
  int saved_ = 0;
  int finished_ = 0;
  std::vector<elastic::FailureRecord> failed_;
  std::optional<AgentContext> context_;
  std::optional<FakeDriver> driver_;
  std::optional<LocalGroup> group_;
};

TEST_F(LocalGroupTest, WorkersHaveTheVariablesOfTheRoundAndOfTheDriver) {
  script_.variables = {{"RANK", "other", "", "", "", Claim::kOverrides},
                       {"TF_CONFIG", "{}", "", ""}};
  round_.rank_offset = 4;
  round_.world_size = 6;
  start({"--nproc-per-node", "2"});
  ASSERT_EQ(processes_.spawned.size(), 2U);
  EXPECT_EQ(variable(1, "LOCAL_RANK"), "1");
  EXPECT_EQ(variable(1, "WORLD_SIZE"), "6");
  EXPECT_EQ(variable(1, "TF_CONFIG"), "{}");
  EXPECT_EQ(variable(1, "RANK"), "other") << "the driver speaks after PyTorch";
  EXPECT_EQ(started_, 1);
  EXPECT_EQ(script_.calls, (Calls{"check /app/worker", "begin_attempt 0 of 2"}));
}

TEST_F(LocalGroupTest, AllMustSucceed) {
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {});
  EXPECT_EQ(finished_, 0);
  end(workers[1], {});
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
  EXPECT_TRUE(failed_.empty());
}

TEST_F(LocalGroupTest, AFailureEndsTheOthersWithinTheGrace) {
  start({"--nproc-per-node", "2", "--grace-period", "5s"});
  const auto workers = running();
  end(workers[1], {.code = 3});
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].local_rank, 1);
  EXPECT_TRUE(was_sent(workers[0], SIGTERM));
  pass(std::chrono::seconds(5));
  reap();
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(finished_, 1);
  EXPECT_FALSE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, WhatASuccessfulWorkerLeavesBehindIsToldToEnd) {
  start({"--grace-period", "2s"});
  processes_.left = {{kLeft, 1}};
  end_rest({});
  EXPECT_EQ(finished_, 0);
  EXPECT_FALSE(was_sent(kLeft, SIGTERM)) << "it may end by itself";
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(was_sent(kLeft, SIGTERM));
  EXPECT_EQ(finished_, 0);
  processes_.left.clear();
  end(kLeft, {});
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, WhatASuccessfulWorkerLeavesBehindIsNotAwaitedForEver) {
  start({"--grace-period", "2s"});
  processes_.left = {{kLeft, 1}};
  end_rest({});
  pass(std::chrono::seconds(1));
  pass(std::chrono::seconds(2));
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, AProgramBelowAShellKeepsItsGrace) {
  start({"--grace-period", "6s"});
  processes_.left = {{kLeft, 1}};
  group_->stop(SIGTERM, std::chrono::seconds(6));
  end_rest({.signal = SIGTERM});  // the shell
  EXPECT_TRUE(was_sent(kLeft, SIGTERM));
  pass(std::chrono::seconds(5));
  EXPECT_EQ(finished_, 0);
  processes_.left.clear();
  end(kLeft, {});
  EXPECT_EQ(finished_, 1);
}

// As a copy of what it saves.
TEST_F(LocalGroupTest, WhatASavingProgramStartsIsItsOwnBusiness) {
  start({"--grace-period", "6s"});
  group_->stop(SIGTERM, std::chrono::seconds(6));
  processes_.left = {{kLeft, 1}, {kHelper, kLeft}};
  end_rest({.signal = SIGTERM});  // a shell; what it leaves is told, and saves
  pass(std::chrono::seconds(3));
  reap();
  EXPECT_TRUE(was_sent(kLeft, SIGTERM));
  EXPECT_FALSE(was_sent(kHelper, SIGTERM));
  processes_.left = {{kHelper, 1}};
  end(kLeft, {});
  EXPECT_TRUE(was_sent(kHelper, SIGTERM)) << "nobody waits for it any more";
}

TEST_F(LocalGroupTest, ALauncherIsToldWhenItsRanksHaveEnded) {
  script_.needs.launcher = true;
  script_.launcher = JobLauncher{
      .name = "mpirun", .program = "/bin/mpirun", .arguments = {"mpirun"}, .environment = {}};
  start({});
  script_.ranks = true;
  group_->stop(SIGTERM, std::chrono::seconds(20));
  EXPECT_EQ(script_.calls.back(), "tell_ranks 15");
  pass(std::chrono::seconds(5));
  EXPECT_FALSE(was_sent(running()[0], SIGTERM)) << "it would kill its ranks";
  script_.ranks = false;
  group_->ranks_gone();
  EXPECT_TRUE(was_sent(running()[0], SIGTERM));
  end_rest({.code = 1});
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, RanksThatAnotherNodeStartedSaveHere) {
  script_.needs.launcher = true;
  script_.serving = true;
  start({});
  script_.ranks = true;
  EXPECT_TRUE(group_->notify(SIGTERM));
  pass(std::chrono::seconds(5));
  EXPECT_EQ(saved_, 0);
  script_.ranks = false;
  pass(std::chrono::seconds(1));
  EXPECT_EQ(saved_, 1);
}

TEST_F(LocalGroupTest, ARestartWaitsAndCountsUp) {
  restarts_ = 1;
  pause_ = std::chrono::seconds(3);
  start({});
  end_rest({.code = 1});
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(group_->state(), GroupState::kBackoff);
  pass(pause_);
  ASSERT_EQ(running().size(), 1U);
  EXPECT_EQ(variable(1, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_EQ(group_->attempt(), 1);
}

TEST_F(LocalGroupTest, TheDriverKnowsBetterWhatAnEndMeans) {
  script_.verdicts[0] = {.exit_code = 17, .reason = "called abort"};
  start({});
  end_rest({});
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].status.code, 17);
  EXPECT_EQ(failed_[0].failure_class, FailureClass::kUserError);
  EXPECT_EQ(failed_[0].reason, "called abort (user error)");
}

TEST_F(LocalGroupTest, WhatTheDriverCannotBeginIsAFailedStart) {
  script_.attempt_error = Error{Code::kConfig, 0, "no mpirun"};
  start({});
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].status.code, kExitConfig);
  EXPECT_EQ(failed_[0].reason, "could not be started: no mpirun");
  EXPECT_TRUE(group_->would_fail_again());
  EXPECT_TRUE(processes_.spawned.empty());
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, AWorkerThatCannotBeStartedEndsThoseThatWere) {
  const Status opened = open({"--nproc-per-node", "2"});
  ASSERT_TRUE(opened);
  processes_.fail_next_spawn = EACCES;
  group_->start(0);
  idle();
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].local_rank, 0);
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, ALauncherStandsForAllWorkersAndIsNoRank) {
  script_.needs.launcher = true;
  script_.launcher = JobLauncher{
      .name = "mpirun", .program = "/bin/mpirun", .arguments = {"mpirun"}, .environment = {"A=1"}};
  start({"--nproc-per-node", "4"});
  ASSERT_EQ(processes_.spawned.size(), 1U);
  EXPECT_EQ(processes_.spawned[0].program, "/bin/mpirun");
  EXPECT_EQ(processes_.spawned[0].environment, (Calls{"A=1"}));
  end_rest({.code = 2});
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].rank, elastic::kNoRank);
  EXPECT_TRUE(failed_[0].reason.starts_with("mpirun: ")) << failed_[0].reason;
}

TEST_F(LocalGroupTest, ANodeWhoseWorkersAnotherStartsStaysUntilNobodyIsServed) {
  script_.needs.launcher = true;
  script_.serving = true;
  start({});
  EXPECT_TRUE(processes_.spawned.empty());
  EXPECT_EQ(started_, 1);
  EXPECT_TRUE(group_->alive());
  group_->stop(SIGTERM, std::chrono::seconds(5));
  idle();
  EXPECT_EQ(finished_, 0);
  script_.serving = false;
  group_->served_all();
  idle();
  EXPECT_EQ(finished_, 1);
  EXPECT_FALSE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, ANodeWithoutWorkersMissesNone) {
  script_.needs.workers = false;
  start({});
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, OneThatMissesAnotherWaitsForItsEnd) {
  script_.needs.lost_peer_wait = std::chrono::milliseconds(500);
  script_.verdicts[0] = {.exit_code = 1, .reason = "Connection reset by peer"};
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {.code = 1});
  EXPECT_TRUE(failed_.empty()) << "the other one may explain it";
  end(workers[1], {.signal = SIGSEGV});
  ASSERT_EQ(failed_.size(), 2U);
  EXPECT_EQ(failed_[0].local_rank, 1) << "what explains comes first";
}

TEST_F(LocalGroupTest, WhoWasAskedToSaveDidNotFail) {
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  EXPECT_TRUE(group_->notify(SIGUSR1));
  EXPECT_TRUE(was_sent(workers[0], SIGUSR1));
  end(workers[0], {.signal = SIGUSR1});
  EXPECT_TRUE(failed_.empty());
  EXPECT_EQ(running().size(), 1U) << "it does not end the one that still saves";
}

TEST_F(LocalGroupTest, TheLastWordCleansUp) {
  start({});
  end_rest({});
  int closed = 0;
  group_->close([&closed] { ++closed; });
  idle();
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(script_.calls.back(), "clean_up");
}

TEST_F(LocalGroupTest, AWorkerThatIsKeptStartsAgainWhileTheOthersRun) {
  script_.apart = 1;
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {.code = 3});
  EXPECT_EQ(group_->state(), GroupState::kRunning);
  EXPECT_TRUE(failed_.empty());
  EXPECT_FALSE(was_sent(workers[1], SIGTERM));
  group_->resolve(0, Duration::zero());
  ASSERT_EQ(running().size(), 2U);
  EXPECT_EQ(variable(2, "LOCAL_RANK"), "0");
  end_rest({});
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, AFailedWorkerThatMayStartAgainAloneDoesSoAfterThePause) {
  script_.apart = 2;
  script_.asks = true;
  alone_ = std::chrono::seconds(2);
  start({"--nproc-per-node", "2"});
  end(running()[0], {.code = 3});
  EXPECT_EQ(running().size(), 1U);
  pass(std::chrono::seconds(2));
  EXPECT_EQ(running().size(), 2U);
  alone_ = Duration::zero();
  end(running()[1], {.code = 3});
  EXPECT_EQ(running().size(), 2U);
  EXPECT_TRUE(failed_.empty());
  end_rest({});
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, AFailedWorkerThatMayNotStartAgainEndsAll) {
  script_.apart = 9;
  script_.asks = true;
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {.code = 3});
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].local_rank, 0);
  EXPECT_TRUE(was_sent(workers[1], SIGTERM));
  end_rest({.signal = SIGTERM});
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, TheLastWorkersFailureEndsTheGroupToo) {
  script_.apart = 9;
  script_.asks = true;
  start({});
  end_rest({.code = 3});
  EXPECT_EQ(failed_.size(), 1U);
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, AStopInThePauseIsTheEnd) {
  script_.apart = 9;
  script_.asks = true;
  alone_ = std::chrono::seconds(2);
  start({});
  end_rest({.code = 3});
  group_->stop(SIGTERM, std::chrono::seconds(5));
  pass(std::chrono::seconds(3));
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(finished_, 1);
}

TEST_F(LocalGroupTest, TheEndOfAKeptWorkerCountsWhenItsDriverSaysSo) {
  script_.apart = 2;
  start({"--nproc-per-node", "2"});
  end_rest({});
  EXPECT_EQ(finished_, 0) << "nothing runs, and nothing is said";
  group_->resolve(0, std::nullopt);
  EXPECT_EQ(finished_, 0);
  group_->resolve(1, std::nullopt);
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, AWorkerMayHaveNothingToDoFromTheBeginning) {
  script_.apart = 0;
  script_.starts = false;
  start({"--nproc-per-node", "2"});
  EXPECT_TRUE(processes_.spawned.empty());
  group_->resolve(0, Duration::zero());
  group_->resolve(1, std::nullopt);
  ASSERT_EQ(processes_.spawned.size(), 1U);
  end_rest({});
  EXPECT_EQ(finished_, 1);
  EXPECT_TRUE(group_->all_succeeded());
}

TEST_F(LocalGroupTest, AStopFindsKeptWorkersAndNoneOfThemIsASuccess) {
  script_.apart = 2;
  start({"--nproc-per-node", "2"});
  end_rest({});
  group_->stop(SIGTERM, std::chrono::seconds(5));
  idle();
  EXPECT_EQ(finished_, 1);
  EXPECT_FALSE(group_->all_succeeded());
  group_->resolve(0, Duration::zero());
  EXPECT_TRUE(running().empty()) << "it comes too late";
}

TEST_F(LocalGroupTest, AFailureEndsKeptWorkersToo) {
  script_.apart = 1;
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {.code = 3});
  end(workers[1], {.code = 4});
  EXPECT_EQ(finished_, 1);
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].local_rank, 1);
}

TEST_F(LocalGroupTest, OneThatStartsAgainAfterAllWereToldToSaveMayEndLast) {
  script_.apart = 1;
  start({"--nproc-per-node", "2"});
  const auto workers = running();
  end(workers[0], {.code = 3});
  EXPECT_TRUE(group_->notify(SIGTERM));
  group_->resolve(0, Duration::zero());
  end(workers[1], {.signal = SIGTERM});
  end_rest({});
  EXPECT_EQ(finished_, 1);
  EXPECT_FALSE(group_->all_succeeded());
}

}  // namespace
}  // namespace muster::launcher
