// The termination message reaches its file, and nothing worse happens when it does not.
#include "launcher/report/termination_log.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

class TerminationLogTest : public ::testing::Test {
 protected:
  TerminationLogTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
  }
  ~TerminationLogTest() override { log::set_sink({}); }

  muster::testing::FakeFiles files_;
  std::string log_;
};

TEST_F(TerminationLogTest, WritesToTheFileOfThePod) {
  files_.add_file("/dev/termination-log", "of an earlier life of this container");
  write_termination_log(files_, "", "muster: rank 1 failed\n");
  EXPECT_EQ(files_.content("/dev/termination-log"), "muster: rank 1 failed\n");
}

TEST_F(TerminationLogTest, DoesNotCreateTheDefaultFileOutsideAPod) {
  files_.add_directory("/dev");
  write_termination_log(files_, "", "text");
  EXPECT_FALSE(files_.exists("/dev/termination-log"));
  EXPECT_EQ(log_, "");
}

TEST_F(TerminationLogTest, CreatesTheFileThatWasAskedFor) {
  files_.add_directory("/run");
  files_.add_file("/dev/termination-log", "");
  write_termination_log(files_, "/run/message", "text");
  EXPECT_EQ(files_.content("/run/message"), "text");
  EXPECT_EQ(files_.content("/dev/termination-log"), "");
}

TEST_F(TerminationLogTest, ClipsWithoutCuttingACharacter) {
  files_.add_directory("/run");
  write_termination_log(files_, "/run/message",
                        std::string(kMaxTerminationBytes - 1, 'x') + "\xc3\xb6 and more");
  EXPECT_EQ(files_.content("/run/message"), std::string(kMaxTerminationBytes - 1, 'x'));
}

TEST_F(TerminationLogTest, WritesValidUtf8WhateverItIsGiven) {
  files_.add_directory("/run");
  write_termination_log(files_, "/run/message",
                        "a\xff"
                        "b");
  EXPECT_EQ(files_.content("/run/message"),
            "a\xef\xbf\xbd"
            "b");
}

TEST_F(TerminationLogTest, FailureToWriteIsAWarning) {
  files_.fail_path("/run/message", EROFS);
  write_termination_log(files_, "/run/message", "text");
  EXPECT_NE(log_.find(" W termination_log.failed "), std::string::npos) << log_;
  EXPECT_NE(log_.find("/run/message"), std::string::npos) << log_;
  EXPECT_NE(log_.find("Read-only file system"), std::string::npos) << log_;
}

}  // namespace
}  // namespace muster::launcher
