#include "base/exec_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

TEST(ExecErrorTest, NamesTheInterpreterThatIsMissing) {
  EXPECT_EQ(why_not_executed(ENOENT, "#! /opt/python9 -u\nprint()\n"),
            "its interpreter '/opt/python9' does not exist");
  EXPECT_EQ(why_not_executed(ENOENT, "#!/bin/sh\r\ntrue\r\n"),
            "its lines end as on Windows, in CR LF: no interpreter is named '/bin/sh\\r'");
  EXPECT_EQ(why_not_executed(ENOENT, "#!/opt/python9"),
            "its interpreter '/opt/python9' does not exist");
  EXPECT_NE(why_not_executed(ENOENT,
                             "\x7f"
                             "ELF\x02")
                .find("dynamic loader"),
            std::string::npos);
  EXPECT_EQ(why_not_executed(ENOENT, "print()"), "");
  EXPECT_EQ(why_not_executed(ENOENT, ""), "");
}

TEST(ExecErrorTest, SaysWhatIsWrongWithTheFormat) {
  EXPECT_EQ(why_not_executed(ENOEXEC, "print()"), "it has no #! line that names its interpreter");
  EXPECT_EQ(why_not_executed(ENOEXEC, ""), "it is empty");
  EXPECT_EQ(why_not_executed(ENOEXEC, "\xef\xbb\xbf#!/bin/sh\n"),
            "a byte order mark stands where its #! must be");
  EXPECT_EQ(why_not_executed(ENOEXEC,
                             "\x7f"
                             "ELF\x02"),
            "it was built for another kind of machine");
  EXPECT_EQ(why_not_executed(EACCES, "print()"), "");
}

}  // namespace
}  // namespace muster
