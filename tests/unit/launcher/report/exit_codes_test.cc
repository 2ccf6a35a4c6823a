// Exit codes by personality.
#include "launcher/report/exit_codes.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

constexpr Personality kMuster = Personality::kMuster;
constexpr Personality kTorchrun = Personality::kTorchrun;

Error error_of(Code code, int os_errno = 0) { return {code, os_errno, "x"}; }

TEST(ExitCodes, MusterHasTheCodesOfSysexits) {
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kUsage)), 64);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kOs, EAGAIN)), 75);
}

TEST(ExitCodes, TorchrunKnowsOnlyUsageAndFailure) {
  for (const Code code : {Code::kConfig, Code::kOs, Code::kPeer, Code::kTimeout, Code::kProtocol,
                          Code::kLimit, Code::kInternal}) {
    EXPECT_EQ(exit_code_of_error(kTorchrun, error_of(code)), 1);
  }
  EXPECT_EQ(exit_code_of_error(kTorchrun, error_of(Code::kUsage)), 2);
  EXPECT_EQ(exit_code_of_worker(kTorchrun, {.code = 3}), 1);
  EXPECT_EQ(exit_code_of_worker(kTorchrun, {.signal = SIGKILL}), 1);
  EXPECT_EQ(exit_code_of_signal(kTorchrun, SIGTERM), 1);
}

TEST(ExitCodes, WorkersOwnCodeIsPassedOn) {
  for (int code = 1; code < 256; ++code) {
    EXPECT_EQ(exit_code_of_worker(kMuster, {.code = code}), code);
  }
  EXPECT_EQ(exit_code_of_worker(kMuster, {.signal = SIGKILL}), 137);
  EXPECT_EQ(exit_code_of_worker(kMuster, {.signal = SIGSEGV, .core_dumped = true}), 139);
}

TEST(ExitCodes, SignalToTheAgentIsToldAsAShellDoes) {
  EXPECT_EQ(exit_code_of_signal(kMuster, SIGTERM), 143);
  EXPECT_EQ(exit_code_of_signal(kMuster, SIGINT), 130);
  EXPECT_EQ(exit_code_of_signal(kMuster, SIGHUP), 129);
}

}  // namespace
}  // namespace muster::launcher
