#include "mpi/launch/rsh_command_line.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using Words = std::vector<std::string>;

RshCommandLine read(const Words& words) {
  auto line = parse_rsh_command_line(words);
  EXPECT_TRUE(line) << line.error().text;
  return line ? *line : RshCommandLine();
}

std::string problem(const Words& words) {
  const auto line = parse_rsh_command_line(words);
  return line ? "" : line.error().text;
}

// The shapes are those that the launchers of five MPIs were seen to use.

TEST(RshCommandLine, OpenMpi4WithAPosixShell) {
  const auto line = read({"node-1", "(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
                          "", "", "orted", "-mca", "ess", "\"env\"", "-mca", "orte_hnp_uri",
                          "\"3640655872.0;tcp://10.0.0.1:34567\"", ")"});
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.user, "");
  // Empty words stay as two spaces; quotes are the far shell's business.
  EXPECT_EQ(line.command,
            "( test ! -r ./.profile || . ./.profile;   orted -mca ess \"env\" -mca orte_hnp_uri "
            "\"3640655872.0;tcp://10.0.0.1:34567\" )");
}

TEST(RshCommandLine, OpenMpi4WithBashAndALeadingSpace) {
  const auto line = read({"me@node-1", " orted", "--daemonize", "-mca", "ess", "\"env\""});
  EXPECT_EQ(line.user, "me");
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.command, " orted --daemonize -mca ess \"env\"");
}

TEST(RshCommandLine, OpenMpi4WithAPortFromTheHostfile) {
  const auto line = read({"-x", "node-1", "-p", "2222", "orted", "-mca", "ess", "\"env\""});
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.command, "orted -mca ess \"env\"");
  EXPECT_EQ(line.command_at, 4U);
}

TEST(RshCommandLine, OpenMpi5WithItsExports) {
  const std::string path = "LD_LIBRARY_PATH=/opt/ompi/lib:$LD_LIBRARY_PATH;export";
  const auto line =
      read({"node-1", "PRTE_PREFIX=/opt/ompi;export", "PRTE_PREFIX;" + path,
            "LD_LIBRARY_PATH;/opt/ompi/bin/prted", "--prtemca", "ess", "\"env\"", "--prtemca",
            "prte_parent_uri", "\"prterun-launcher-17@0.0;tcp://10.0.0.1:34567:24\""});
  EXPECT_EQ(line.command,
            "PRTE_PREFIX=/opt/ompi;export PRTE_PREFIX;LD_LIBRARY_PATH=/opt/ompi/lib:"
            "$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;/opt/ompi/bin/prted --prtemca ess \"env\" "
            "--prtemca prte_parent_uri \"prterun-launcher-17@0.0;tcp://10.0.0.1:34567:24\"");
}

TEST(RshCommandLine, HydraAsSshAndAsRsh) {
  const Words call = {"node-1",         "\"/usr/bin/hydra_pmi_proxy\"",
                      "--control-port", "10.0.0.1:40000",
                      "--rmk",          "user",
                      "--launcher",     "ssh",
                      "--demux",        "poll",
                      "--pgid",         "0",
                      "--retries",      "10",
                      "--usize",        "-2",
                      "--proxy-id",     "1"};
  Words as_ssh = {"-x"};
  as_ssh.insert(as_ssh.end(), call.begin(), call.end());
  const std::string command =
      "\"/usr/bin/hydra_pmi_proxy\" --control-port 10.0.0.1:40000 --rmk user --launcher ssh "
      "--demux poll --pgid 0 --retries 10 --usize -2 --proxy-id 1";
  EXPECT_EQ(read(call).command, command);
  EXPECT_EQ(read(as_ssh).command, command);
}

TEST(RshCommandLine, IntelMpiWithQuietAndNoX11) {
  const auto line = read({"-q", "-x", "node-1", "/opt/intel/bin//hydra_bstrap_proxy",
                          "--upstream-host", "10.0.0.1", "--upstream-port", "40000"});
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.command,
            "/opt/intel/bin//hydra_bstrap_proxy --upstream-host 10.0.0.1 --upstream-port 40000");
}

TEST(RshCommandLine, HorovodsCheckAndItsHook) {
  const auto check =
      read({"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "node-1", "-p",
            "22", "-i", "/keys/id", "-o", "ConnectTimeout=10", "true"});
  EXPECT_EQ(check.host, "node-1");
  EXPECT_EQ(check.command, "true");
  EXPECT_EQ(read({"node-1", "cd /data > /dev/null 2>&1 ; A=1 python train.py"}).command,
            "cd /data > /dev/null 2>&1 ; A=1 python train.py");
}

TEST(RshCommandLine, OptionsAreBundledAttachedAndIgnored) {
  const auto line = read({"-xq", "-p2222", "-oBatchMode=yes", "-tt", "-F", "/config", "-4Ap", "22",
                          "-lme", "--", "node-1", "ls", "-l"});
  EXPECT_EQ(line.user, "me");
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.command, "ls -l");
  EXPECT_FALSE(line.no_stdin);
  EXPECT_TRUE(read({"-xn", "node-1", "cat"}).no_stdin);
}

TEST(RshCommandLine, TheHostIsWhateverStandsInItsPlace) {
  EXPECT_EQ(read({"fe80::1", "true"}).host, "fe80::1");
  EXPECT_EQ(read({"a@b@node-1.job.svc", "true"}).user, "a@b");
  EXPECT_EQ(read({"a@b@node-1.job.svc", "true"}).host, "node-1.job.svc");
  EXPECT_EQ(read({"-", "true"}).host, "-");
}

TEST(RshCommandLine, AfterTwoDashesNothingIsAnOption) {
  EXPECT_EQ(read({"node-1", "--", "-p", "22"}).command, "-p 22");
  EXPECT_EQ(read({"node-1", "echo", "--", "-n"}).command, "echo -- -n");
}

TEST(RshCommandLine, LongCommandsPassUpToTheLimitOfExec) {
  EXPECT_EQ(read({"h", std::string(64 << 10, 'a')}).command.size(), 64U << 10);
  EXPECT_EQ(read({"h", std::string(kMaxRshCommandBytes - 2, 'a'), "b"}).command.size(),
            kMaxRshCommandBytes);
  EXPECT_EQ(problem({"h", std::string(kMaxRshCommandBytes - 1, 'a'), "b"}),
            "a command of 131072 bytes, at most 131071");
}

TEST(RshCommandLine, MistakesAreToldInOneLine) {
  EXPECT_EQ(problem({}), "no host given");
  EXPECT_EQ(problem({"-x"}), "no host given");
  EXPECT_EQ(problem({"node-1"}),
            "no command for host 'node-1'; there are no logins, only commands");
  EXPECT_EQ(problem({"node-1", "-x"}),
            "no command for host 'node-1'; there are no logins, only commands");
  EXPECT_EQ(problem({"node-1", ""}), "an empty command for host 'node-1'");
  EXPECT_EQ(problem({"node-1", "-p"}), "'-p' needs a value");
  EXPECT_EQ(problem({"-Z", "node-1", "true"}), "'-Z' is no option of ssh");
  EXPECT_EQ(problem({"--port", "node-1", "true"}), "'--port' is no option of ssh");
  EXPECT_EQ(problem({"me@", "true"}), "the host's name is empty");
  EXPECT_EQ(problem({"@node-1", "true"}), "the user's name is empty");
  EXPECT_EQ(problem({std::string(254, 'h'), "true"}), "a host's name of 254 bytes, at most 253");
}

}  // namespace
}  // namespace muster::mpi
