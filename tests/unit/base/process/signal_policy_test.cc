#include "base/process/signal_policy.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

const std::vector<int> kDefaults = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

TEST(SignalPolicy, TheDefaultStopSignalsStop) {
  for (const int signal : kDefaults)
    EXPECT_EQ(respond_to(signal, kDefaults, {}), SignalResponse::kStop) << signal;
}

TEST(SignalPolicy, SigtermStopsEvenWhenItWasLeftOut) {
  EXPECT_EQ(respond_to(SIGTERM, {SIGUSR1}, {}), SignalResponse::kStop);
  EXPECT_EQ(respond_to(SIGUSR1, {SIGUSR1}, {}), SignalResponse::kStop);
}

TEST(SignalPolicy, HangUpIsIgnoredUnderNohup) {
  EXPECT_EQ(respond_to(SIGHUP, kDefaults, {SIGHUP}), SignalResponse::kIgnore);
}

TEST(SignalPolicy, JobControlReachesTheWorkers) {
  EXPECT_EQ(respond_to(SIGTSTP, kDefaults, {}), SignalResponse::kSuspend);
  EXPECT_EQ(respond_to(SIGCONT, kDefaults, {}), SignalResponse::kResume);
}

TEST(SignalPolicy, OtherSignalsAreForEveryWorker) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGRTMIN + 1}) {
    EXPECT_EQ(respond_to(signal, kDefaults, {}), SignalResponse::kForward) << signal;
  }
}

TEST(SignalPolicy, ChildrenAreReapedAndPipesIgnored) {
  EXPECT_EQ(respond_to(SIGCHLD, kDefaults, {}), SignalResponse::kReap);
  EXPECT_EQ(respond_to(SIGPIPE, kDefaults, {}), SignalResponse::kIgnore);
  EXPECT_EQ(respond_to(SIGTTOU, kDefaults, {}), SignalResponse::kIgnore);
}

}  // namespace
}  // namespace muster
