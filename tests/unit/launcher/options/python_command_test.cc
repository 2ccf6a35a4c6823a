#include "launcher/options/python_command.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

TEST(PythonCommand, ItsScriptOrModuleIsFoundBehindItsOptions) {
  for (const Words& words :
       {Words{"-u", "-X", "dev", "a.py", "-m", "b"}, Words{"-Xdev", "a.py"},
        Words{"-bW", "ignore", "a.py"}, Words{"--check-hash-based-pycs", "always", "a.py"}}) {
    const PythonCommand command = read_python_command(words);
    EXPECT_EQ(command.script, "a.py");
    EXPECT_EQ(command.module, "");
    EXPECT_EQ(words.at(command.rest - 1), "a.py");
    EXPECT_EQ(command.blinding, "");
  }
  for (const Words& words :
       {Words{"-m", "a.b", "x"}, Words{"-uma.b", "x"}, Words{"-um", "a.b", "x"}}) {
    const PythonCommand command = read_python_command(words);
    EXPECT_EQ(command.module, "a.b");
    EXPECT_EQ(command.script, "");
    EXPECT_EQ(words.at(command.rest), "x");
  }
}

TEST(PythonCommand, WhatIsNoFileIsNoScript) {
  for (const Words& words : {Words{}, Words{"-"}, Words{"-c", "a.py"}, Words{"-m"},
                             Words{"-W", "a.py"}, Words{"--version", "a.py"}}) {
    const PythonCommand command = read_python_command(words);
    EXPECT_EQ(command.script, "");
    EXPECT_EQ(command.module, "");
    EXPECT_LE(command.rest, words.size() + 1);
  }
}

TEST(PythonCommand, OptionsOfItsOwnMayKeepItFromHooks) {
  EXPECT_EQ(read_python_command(Words{"-I", "a.py"}).blinding, "-I");
  EXPECT_EQ(read_python_command(Words{"-uSm", "a"}).blinding, "-S");
  EXPECT_EQ(read_python_command(Words{"-E", "-I", "-c", "pass"}).blinding, "-E");
  for (const Words& words : {Words{"a.py", "-I"}, Words{"-mI"}, Words{"-m", "a", "-E"},
                             Words{"-W", "-I", "a.py"}, Words{"-XI", "a.py"}})
    EXPECT_EQ(read_python_command(words).blinding, "");
}

}  // namespace
}  // namespace muster::launcher
