// Exit codes by personality.
#include "launcher/exit_codes.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

constexpr Personality kMuster = Personality::kMuster;
constexpr Personality kTorchrun = Personality::kTorchrun;

Error error_of(Code code, int os_errno = 0) { return {code, os_errno, "x"}; }

TEST(ExitCodes, ErrorsHaveTheCodesOfSysexits) {
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kUsage)), 64);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kConfig)), 78);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kLimit)), 78);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kOs, EACCES)), 71);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kPeer)), 69);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kTimeout)), 69);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kProtocol)), 69);
  EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kInternal)), 70);
}

TEST(ExitCodes, PassingShortagesAskForAnotherTry) {
  for (const int error : {EAGAIN, ENOMEM, ENFILE}) {
    EXPECT_EQ(exit_code_of_error(kMuster, error_of(Code::kOs, error)), 75);
  }
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

TEST(ExitCodes, StartFailuresHaveTheCodesOfAShell) {
  EXPECT_EQ(start_failure_code(ENOENT), 127);
  EXPECT_EQ(start_failure_code(ENOTDIR), 127);
  EXPECT_EQ(start_failure_code(EACCES), 126);
  EXPECT_EQ(start_failure_code(ENOEXEC), 126);
  EXPECT_EQ(start_failure_code(EAGAIN), 75);
  EXPECT_EQ(start_failure_code(EMFILE), 71);
}

}  // namespace
}  // namespace muster::launcher
