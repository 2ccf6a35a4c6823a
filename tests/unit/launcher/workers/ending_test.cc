#include "launcher/workers/ending.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/agent_rig.h"
#include "tests/support/fake_driver.h"

namespace muster::launcher {
namespace {

using muster::testing::DriverScript;
using muster::testing::FakeDriver;
using std::chrono::seconds;

constexpr pid_t kLeft = 900;

class EndingTest : public AgentRig {
 protected:
  EndingTest() { ending_.begin_life(seconds(10)); }
  // What ends, and what is left, is told to the supervisor as the owner of an Ending does it.
  pid_t start() {
    ending_.begin_attempt();
    return *supervisor_.start(0, {});
  }
  void end(pid_t pid) {
    processes_.end(pid, {});
    supervisor_.reap();
    idle();
  }
  [[nodiscard]] size_t times_sent(pid_t pid, int signal) const {
    return static_cast<size_t>(std::ranges::count(processes_.sent, Sent{pid, signal, false}));
  }

  DriverScript script_;
  FakeDriver driver_{script_};
  int over_ = 0;
  int saved_ = 0;
  int gone_ = 0;
  Supervisor supervisor_{
      *loop_, processes_, {[](const WorkerExit&) {}, [this](size_t) { ++gone_; }, {}}};
  Ending ending_{*loop_, supervisor_, driver_, {[this] { ++over_; }, [this] { ++saved_; }}};
};

TEST_F(EndingTest, TheGracePeriodBeginsWithTheStopSignal) {
  const pid_t worker = start();
  pass(seconds(20));
  ending_.terminate();
  EXPECT_EQ(times_sent(worker, SIGTERM), 1U);
  pass(seconds(9));
  EXPECT_EQ(over_, 0);
  pass(seconds(1));
  EXPECT_EQ(over_, 1);
}

TEST_F(EndingTest, WhoAsksSaysSignalAndTime) {
  const pid_t worker = start();
  ending_.ask(SIGINT, seconds(2));
  EXPECT_TRUE(processes_.sent == std::vector({Sent{worker, SIGCONT, true}})) << "nobody else yet";
  ending_.terminate();
  EXPECT_EQ(times_sent(worker, SIGINT), 1U);
  pass(seconds(2));
  EXPECT_EQ(over_, 1);
}

TEST_F(EndingTest, AnotherTimeCountsFromNowAndOnlyIfItIsShorter) {
  (void)start();
  ending_.terminate();
  pass(seconds(5));
  ending_.shorten(seconds(3));
  ending_.shorten(seconds(30));
  pass(seconds(2));
  EXPECT_EQ(over_, 0);
  pass(seconds(1));
  EXPECT_EQ(over_, 1);
}

TEST_F(EndingTest, ANewLifeForgetsWhatWasAsked) {
  ending_.ask(SIGINT, seconds(2));
  ending_.begin_life(seconds(10));
  const pid_t worker = start();
  ending_.terminate();
  EXPECT_EQ(times_sent(worker, SIGTERM), 1U);
}

TEST_F(EndingTest, SavingIsNotEnding) {
  const pid_t worker = start();
  EXPECT_FALSE(ending_.is_saving());
  EXPECT_TRUE(ending_.notify(SIGUSR1));
  EXPECT_TRUE(ending_.is_saving());
  EXPECT_EQ(times_sent(worker, SIGUSR1), 1U);
  pass(seconds(60));
  EXPECT_EQ(over_, 0);
  ending_.terminate();
  EXPECT_FALSE(ending_.is_saving());
  EXPECT_EQ(times_sent(worker, SIGTERM), 1U);
  EXPECT_TRUE(ending_.notify(SIGUSR2));
  EXPECT_FALSE(ending_.is_saving()) << "too late";
}

TEST_F(EndingTest, NobodyIsThereToSave) {
  ending_.begin_attempt();
  EXPECT_FALSE(ending_.notify(SIGUSR1));
}

TEST_F(EndingTest, TheLauncherHearsOfItAfterItsRanks) {
  const pid_t launcher = start();
  script_.ranks = true;
  ending_.notify(SIGUSR1);
  ending_.terminate();
  EXPECT_EQ(script_.calls, (std::vector<std::string>{"tell_ranks 10", "tell_ranks 15"}));
  pass(seconds(1));
  EXPECT_EQ(times_sent(launcher, SIGTERM), 0U);
  script_.ranks = false;
  ending_.ranks_gone();
  EXPECT_EQ(times_sent(launcher, SIGTERM), 1U);
  EXPECT_EQ(times_sent(launcher, SIGUSR1), 0U);
  EXPECT_EQ(saved_, 0);
}

TEST_F(EndingTest, RanksThatSaveAreAskedForAgainAndAgain) {
  ending_.begin_attempt();
  script_.ranks = true;
  EXPECT_TRUE(ending_.notify(SIGUSR1));
  pass(seconds(1));
  EXPECT_EQ(saved_, 0);
  script_.ranks = false;
  pass(seconds(1));
  EXPECT_EQ(saved_, 1);
  ending_.ranks_gone();
  EXPECT_EQ(saved_, 1);
}

TEST_F(EndingTest, WhatIsLeftOfAStoppedWorkerHasTheRestOfItsTime) {
  const pid_t worker = start();
  ending_.terminate();
  processes_.left = {{kLeft, 1}};
  pass(seconds(4));
  end(worker);
  ending_.end_rest();
  EXPECT_EQ(times_sent(kLeft, SIGTERM), 1U);
  pass(seconds(6));
  EXPECT_EQ(over_, 1);
}

TEST_F(EndingTest, WhatIsLeftOfASuccessMayEndByItself) {
  const pid_t worker = start();
  processes_.left = {{kLeft, 1}};
  end(worker);
  ending_.end_rest();
  EXPECT_EQ(times_sent(kLeft, SIGTERM), 0U);
  pass(seconds(1));
  EXPECT_EQ(times_sent(kLeft, SIGTERM), 1U);
  pass(seconds(4));
  EXPECT_EQ(over_, 0);
  pass(seconds(1));
  EXPECT_EQ(over_, 1) << "5 s are less than the grace period";
}

TEST_F(EndingTest, NothingIsLeft) {
  end(start());
  ending_.end_rest();
  EXPECT_EQ(gone_, 1);
}

TEST_F(EndingTest, WhatIsOverTellsNobody) {
  const pid_t worker = start();
  processes_.left = {{kLeft, 1}};
  end(worker);
  ending_.end_rest();
  ending_.over();
  pass(seconds(60));
  EXPECT_EQ(times_sent(kLeft, SIGTERM), 0U);
  EXPECT_EQ(over_, 0);
}

}  // namespace
}  // namespace muster::launcher
