#include "mpi/launch/launcher_call.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

TEST(LauncherCall, IsFoundWhereverAShellWouldRunIt) {
  for (const char* text : {"mpirun -n 4 ./a.out",
                           "cd /data && exec mpirun ./a.out",
                           "set -e\nmpirun ./a.out\n",
                           "MPIRUN=mpirun\n$MPIRUN -n 2 ./a.out",
                           "out=$(mpirun ./a.out)",
                           "if mpirun a; then b; fi",
                           "echo start; mpirun ./a.out",
                           "x=`mpirun ./a`",
                           "mpi\\\nrun ./a.out",
                           "time -p mpirun a",
                           "bash -c \"mpirun ./a.out\"",
                           "timeout 60 mpirun ./a.out",
                           "conda run -n e mpirun -n 2 ./a",
                           "CMD=\"mpirun -n 2 a\"; $CMD",
                           "MPIRUN=$(command -v mpirun)\n\"$MPIRUN\" -n 2 ./a.out",
                           "mpirun \\\n  -n 2 ./a.out",
                           "${MPIRUN:-mpirun} -n 2 a",
                           "export M=mpirun; exec $M a",
                           "mpirun --version; mpirun ./a",
                           "command -v mpirun && { mpirun a; }",
                           "if [ -x /bin/mpirun ]; then mpirun a; fi",
                           "echo $#; mpirun ./a.out",
                           "echo 'a # b'\nmpirun ./a"}) {
    EXPECT_EQ(find_launcher_call(text), "mpirun") << text;
  }
  EXPECT_EQ(find_launcher_call("exec mpiexec.hydra -n 2 python a.py"), "mpiexec.hydra");
  EXPECT_EQ(find_launcher_call("\"/opt/mpi/bin/mpiexec\" ./a.out"), "/opt/mpi/bin/mpiexec");
  EXPECT_EQ(find_launcher_call("cd x|prterun a"), "prterun");
}

TEST(LauncherCall, IsNotACommentNorWhatIsPrintedNorAnotherName) {
  for (const char* text : {"",
                           "./a.out",
                           "# by mpirun\n./a.out",
                           "./a.out # mpirun",
                           "echo started by mpirun",
                           "echo \"now; mpirun\"",
                           "printf '%s\\n' mpirun",
                           "./mpirun.log",
                           "cat /opt/mpirun/notes",
                           "run_mpirun x",
                           "mpirun_rank=3 ./a.out",
                           "\\",
                           "command -v mpirun >/dev/null || exit 1\nexec ./a",
                           "mpirun --version >/dev/null 2>&1\nexec ./a",
                           "which mpirun\n./a.out",
                           "mpirun 2>&1 | head",
                           "type mpirun mpiexec",
                           "[ -x /usr/bin/mpirun -a -x b ] && ./a.out",
                           "mpirun -h; ./a.out",
                           "export PATH=$(dirname $(which mpirun)):$PATH; ./a.out",
                           "MPIRUN=$(which mpirun) ./a.out",
                           "for x in mpirun mpiexec; do hash $x; done",
                           "case $1 in mpirun) ;; esac",
                           "mpirun"}) {
    EXPECT_FALSE(find_launcher_call(text)) << text;
  }
}

TEST(LauncherCall, OnlyTheBeginningOfALongScriptIsLookedAt) {
  EXPECT_FALSE(find_launcher_call(std::string(kMaxScriptBytes, '\n') + "mpirun a"));
}

TEST(ShellCommand, TellsTextScriptAndLauncherApart) {
  EXPECT_EQ(parse_shell_command({"sh", "-c", "mpirun a"}).text, "mpirun a");
  EXPECT_EQ(parse_shell_command({"/bin/bash", "-euo", "pipefail", "-c", "b"}).text, "b");
  EXPECT_EQ(parse_shell_command({"bash", "-lc", "b", "job.sh"}).text, "b");
  EXPECT_EQ(parse_shell_command({"busybox", "sh", "-c", "b"}).text, "b");
  EXPECT_EQ(parse_shell_command({"env", "A=1", "sh", "-c", "b"}).text, "b");
  EXPECT_EQ(parse_shell_command({"sh", "-x", "job.sh", "-c"}).script_path, "job.sh");
  EXPECT_EQ(parse_shell_command({"./job.sh", "mpirun"}).script_path, "./job.sh");
  EXPECT_EQ(parse_shell_command({"timeout", "60", "mpirun", "a"}).launcher, "mpirun");
  EXPECT_EQ(parse_shell_command({"./entrypoint.sh", "mpirun", "-n", "2", "a"}).launcher, "mpirun");
  EXPECT_EQ(parse_shell_command({"gosu", "user", "/opt/mpirun", "a"}).launcher, "/opt/mpirun");
  EXPECT_EQ(parse_shell_command({"sh", "-c", "exec \"$@\"", "sh", "mpirun", "a"}).launcher,
            "mpirun");
  EXPECT_EQ(parse_shell_command({"./a.out", "--with", "mpirun"}).launcher, "");
  EXPECT_EQ(parse_shell_command({"sh"}).text, "");
  EXPECT_EQ(parse_shell_command({}).script_path, "");
}

TEST(ShellScript, IsToldByItsFirstLine) {
  EXPECT_TRUE(is_shell_script("#!/bin/sh\nmpirun a"));
  EXPECT_TRUE(is_shell_script("#!/usr/bin/env bash\n"));
  EXPECT_TRUE(is_shell_script("#! /bin/bash -e"));
  EXPECT_FALSE(is_shell_script("#!/usr/bin/python3\n# sh"));
  EXPECT_FALSE(is_shell_script("mpirun"));
  EXPECT_FALSE(is_shell_script("#!"));
}

}  // namespace
}  // namespace muster::mpi
