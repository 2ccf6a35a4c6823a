#include "launcher/rsh/rsh_prologue.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

// "NAME=VALUE NAME=VALUE | what is left", in an environment with PATH=/bin alone.
std::string read(std::string_view command) {
  Environment environment;
  environment.set("PATH", "/bin");
  const RshPrologue prologue = read_prologue(command, environment);
  std::string text;
  for (const auto& [name, value] : prologue.variables) text += name + "=" + value + " ";
  return text + "| " + std::string(prologue.program);
}

// Recorded from Open MPI 5.0.11, with another prefix and fewer arguments.
TEST(RshPrologue, OpenMpi5) {
  EXPECT_EQ(
      read("PRTE_PREFIX=/opt/ompi;export PRTE_PREFIX;PMIX_PREFIX=/opt/ompi;export PMIX_PREFIX;"
           "LD_LIBRARY_PATH=/opt/ompi/lib:/opt/ompi/lib:$LD_LIBRARY_PATH;export "
           "LD_LIBRARY_PATH;DYLD_LIBRARY_PATH=/opt/ompi/lib:$DYLD_LIBRARY_PATH;export "
           "DYLD_LIBRARY_PATH;/opt/ompi/bin/prted --prtemca ess \"env\" --prtemca "
           "prte_hnp_uri \"prterun-vm-1@0.0;tcp://192.0.2.2:40165:64,24\""),
      "DYLD_LIBRARY_PATH=/opt/ompi/lib: LD_LIBRARY_PATH=/opt/ompi/lib:/opt/ompi/lib: "
      "PMIX_PREFIX=/opt/ompi PRTE_PREFIX=/opt/ompi | /opt/ompi/bin/prted --prtemca ess "
      "\"env\" --prtemca prte_hnp_uri \"prterun-vm-1@0.0;tcp://192.0.2.2:40165:64,24\"");
}

// Recorded from Open MPI 4.1.4 with --prefix.
TEST(RshPrologue, OpenMpi4) {
  EXPECT_EQ(read("          PATH=/usr/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/usr/lib:"
                 "${LD_LIBRARY_PATH:-} ; export LD_LIBRARY_PATH ;   /usr/bin/orted -mca x 1"),
            "LD_LIBRARY_PATH=/usr/lib: PATH=/usr/bin:/bin | /usr/bin/orted -mca x 1");
  EXPECT_EQ(read(" orted -mca orte_hnp_uri \"1.0;tcp://192.0.2.2:1;tcp6://[fd00::2]:5\""),
            "| orted -mca orte_hnp_uri \"1.0;tcp://192.0.2.2:1;tcp6://[fd00::2]:5\"");
}

TEST(RshPrologue, WhereTheLoginShellIsSh) {
  EXPECT_EQ(read("( test ! -r ./.profile || . ./.profile;  orted -mca x 1 )"), "| orted -mca x 1");
  EXPECT_EQ(read("( test ! -r ./.profile || . ./.profile; A=1;export A;b )"), "A=1 | b");
  for (const char* command : {"( test ! -r ./.profile || . ./.profile; b", "( a; b )", "(b)"})
    EXPECT_EQ(read(command), std::string("| ") + command);
}

TEST(RshPrologue, OnlyWhatIsExportedIsPassedOn) {
  EXPECT_EQ(read("A=1;B=$A$A;export B;c"), "B=11 | c");
  EXPECT_EQ(read("PATH=${PATH}:/x;c"), "PATH=/bin:/x | c");
  EXPECT_EQ(read("export A;A=1;c"), "A=1 | c");
  EXPECT_EQ(read("A=;export A;c"), "A= | c");
}

TEST(RshPrologue, WhatIsNotUnderstoodIsLeft) {
  for (const char* left : {"A=`id`;c", "A=$(id);c", "A=${B:-x};c", "A=${B;c", "A=$;c", "A=$1;c",
                           "A=\"x\";c", "A=x y;c", "A=~;c", "A=*;c", "1A=x;c", "=x;c", "export;c",
                           "export A B;c", "export A=1;c", ";c", "A=\\x;c", "cd /;c", "A=1"})
    EXPECT_EQ(read(std::string("X=1;export X;") + left), std::string("X=1 | ") + left);
}

TEST(RshPrologue, ValuesThatDoubleEachTimeAreLimited) {
  std::string command = "A=0123456789abcdef;";
  for (int k = 0; k < 40; ++k) command += "A=$A$A;";
  command += "export A;b";
  const RshPrologue prologue = read_prologue(command, {});
  EXPECT_TRUE(prologue.variables.empty());
  EXPECT_TRUE(prologue.program.starts_with("A=$A$A;"));
}

TEST(RshPrologue, StatementsAreLimited) {
  std::string command;
  for (size_t k = 0; k <= kMaxPrologueStatements; ++k) command += "A=1;";
  EXPECT_EQ(read(command + "b"), "| A=1;b");
}

}  // namespace
}  // namespace muster::launcher
