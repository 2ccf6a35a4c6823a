#include "base/exec_error.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ExecErrorTest, NamesTheInterpreterThatIsMissing) {
  EXPECT_EQ(missing_interpreter("#! /opt/python9 -u\nprint()\n"),
            "its interpreter '/opt/python9' does not exist");
  EXPECT_EQ(missing_interpreter("#!/bin/sh\r\ntrue\r\n"),
            "its lines end as on Windows, in CR LF: no interpreter is named '/bin/sh\\r'");
  EXPECT_EQ(missing_interpreter("#!/opt/python9"), "its interpreter '/opt/python9' does not exist");
  EXPECT_NE(missing_interpreter("\x7f"
                                "ELF\x02")
                .find("dynamic loader"),
            std::string::npos);
  EXPECT_EQ(missing_interpreter("print()"), "");
  EXPECT_EQ(missing_interpreter(""), "");
}

}  // namespace
}  // namespace muster
