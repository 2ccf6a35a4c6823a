#include "launcher/rsh/rsh_shell.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

TEST(RshShell, TheLanguageIsThatOfTheLoginShell) {
  EXPECT_EQ(language_of("/bin/tcsh"), RshShell::kCsh);
  EXPECT_EQ(language_of("/usr/local/bin/csh"), RshShell::kCsh);
  for (const char* shell : {"/bin/bash", "/bin/sh", "", "/usr/sbin/nologin", "/bin/fancy-csh"})
    EXPECT_EQ(language_of(shell), RshShell::kSh) << shell;
}

TEST(RshShell, WordsMeanTheSameWithoutAShell) {
  EXPECT_EQ(plain_words("true"), Words{"true"});
  EXPECT_EQ(plain_words("  a\tb  c "), (Words{"a", "b", "c"}));
  EXPECT_EQ(plain_words("\"/usr/bin/hydra_pmi_proxy\" --control-port a:1 --id 0"),
            (Words{"/usr/bin/hydra_pmi_proxy", "--control-port", "a:1", "--id", "0"}));
  EXPECT_EQ(plain_words("orted -mca uri \"1.0;tcp://10.0.0.1:5\" -x A=1"),
            (Words{"orted", "-mca", "uri", "1.0;tcp://10.0.0.1:5", "-x", "A=1"}));
  EXPECT_EQ(plain_words("echo '$HOME' a\"b\"'c' \"\""), (Words{"echo", "$HOME", "abc", ""}));
}

TEST(RshShell, WhateverIsMoreThanWordsNeedsAShell) {
  for (const char* command : {"", "  ", "a; b", "a && b", "a | b", "echo $HOME", "echo \"$HOME\"",
                              "echo `id`", "a > b", "A=1 b", "ls *.c", "( a )", "a \\b", "a 'b",
                              "~/a", "{ a; }", "# a", "a\nb", "if a; then b; fi"})
    EXPECT_EQ(plain_words(command), std::nullopt) << command;
}

// An image with these files; "exec" marks programs.
std::string chosen(const std::vector<std::string>& programs, RshShell shell,
                   const std::string& login_shell, const std::string& command) {
  testing::FakeFiles files;
  for (const std::string& path : programs) files.add_executable(path);
  Environment environment;
  environment.set("PATH", "/usr/bin:/bin");
  const auto program = program_for(files, shell, login_shell, environment, command);
  if (!program) return std::to_string(program.error().os_errno) + " " + program.error().text;
  std::string text = program->path + ":";
  for (const std::string& argument : program->arguments) text += " [" + argument + "]";
  for (const auto& [name, value] : program->variables) text += " " + name + "=" + value;
  return text;
}

TEST(RshShell, ShRunsWhatIsWrittenForSh) {
  EXPECT_EQ(chosen({"/bin/sh", "/bin/csh"}, RshShell::kSh, "/bin/csh", "a; b"),
            "/bin/sh: [/bin/sh] [-c] [a; b]");
}

TEST(RshShell, CshRunsWhatIsWrittenForIt) {
  EXPECT_EQ(chosen({"/bin/sh", "/opt/tcsh"}, RshShell::kCsh, "/opt/tcsh", "setenv A b"),
            "/opt/tcsh: [/opt/tcsh] [-f] [-c] [setenv A b]");
  EXPECT_EQ(chosen({"/bin/sh", "/bin/csh"}, RshShell::kCsh, "/bin/sh", "setenv A b"),
            "/bin/csh: [/bin/csh] [-f] [-c] [setenv A b]");
  // Both languages have plain words.
  EXPECT_EQ(chosen({"/bin/sh"}, RshShell::kCsh, "/bin/csh", "orted -x"),
            "/bin/sh: [/bin/sh] [-c] [orted -x]");
  EXPECT_EQ(chosen({"/bin/sh"}, RshShell::kCsh, "/bin/csh", "setenv A b; orted"),
            "2 the command needs csh (the user's login shell where it was called), which is not "
            "here; a program with its arguments would not need it");
}

TEST(RshShell, AnImageWithoutAShellRunsPrograms) {
  EXPECT_EQ(chosen({"/usr/bin/orted"}, RshShell::kSh, "/bin/sh", "orted -mca a \"b c\""),
            "/usr/bin/orted: [orted] [-mca] [a] [b c]");
  EXPECT_EQ(chosen({"/usr/bin/orted"}, RshShell::kSh, "/bin/sh", "prted").substr(0, 1), "2");
  EXPECT_EQ(chosen({"/usr/bin/orted"}, RshShell::kSh, "/bin/sh", "cd /; orted"),
            "2 the command needs /bin/sh, which is not here; a program with its arguments would "
            "not need it");
}

TEST(RshShell, AnImageWithoutAShellRunsTheDaemonsOfOpenMpi) {
  EXPECT_EQ(chosen({"/opt/bin/orted"}, RshShell::kSh, "/bin/sh",
                   "  PATH=/opt/bin:$PATH ; export PATH ;   orted -mca a \"b;c\""),
            "/opt/bin/orted: [orted] [-mca] [a] [b;c] PATH=/opt/bin:/usr/bin:/bin");
  // Only sh has these statements.
  EXPECT_EQ(chosen({"/opt/bin/orted"}, RshShell::kCsh, "/bin/csh", "A=1;/opt/bin/orted")[0], '2');
  // With a shell, it is the shell's.
  EXPECT_EQ(chosen({"/bin/sh"}, RshShell::kSh, "/bin/sh", "A=1;/opt/bin/orted"),
            "/bin/sh: [/bin/sh] [-c] [A=1;/opt/bin/orted]");
}

}  // namespace
}  // namespace muster::launcher
