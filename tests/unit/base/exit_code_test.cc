// Exit codes of errors and of programs that cannot be started.
#include "base/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

Error error_of(Code code, int os_errno = 0) { return {code, os_errno, "x"}; }

TEST(ExitCode, ErrorsHaveTheCodesOfSysexits) {
  EXPECT_EQ(exit_code_of(error_of(Code::kUsage)), 64);
  EXPECT_EQ(exit_code_of(error_of(Code::kConfig)), 78);
  EXPECT_EQ(exit_code_of(error_of(Code::kLimit)), 78);
  EXPECT_EQ(exit_code_of(error_of(Code::kOs, EACCES)), 71);
  EXPECT_EQ(exit_code_of(error_of(Code::kPeer)), 69);
  EXPECT_EQ(exit_code_of(error_of(Code::kTimeout)), 69);
  EXPECT_EQ(exit_code_of(error_of(Code::kProtocol)), 69);
  EXPECT_EQ(exit_code_of(error_of(Code::kInternal)), 70);
}

TEST(ExitCode, PassingShortagesAskForAnotherTry) {
  for (const int error : {EAGAIN, ENOMEM, ENFILE}) {
    EXPECT_EQ(exit_code_of(error_of(Code::kOs, error)), 75);
  }
}

TEST(ExitCode, StartFailuresHaveTheCodesOfAShell) {
  EXPECT_EQ(start_failure_code(ENOENT), 127);
  EXPECT_EQ(start_failure_code(ENOTDIR), 127);
  EXPECT_EQ(start_failure_code(EACCES), 126);
  EXPECT_EQ(start_failure_code(ENOEXEC), 126);
  EXPECT_EQ(start_failure_code(EAGAIN), 75);
  EXPECT_EQ(start_failure_code(EMFILE), 71);
}

}  // namespace
}  // namespace muster
