#include "mpi/launch/remote_shell.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace muster::mpi {
namespace {

constexpr const char* kRsh = "/opt/muster-rsh";

struct Outcome {
  std::string words;
  std::vector<ShellSetting> found;
};
Outcome of(std::vector<std::string> words) {
  Outcome outcome;
  outcome.found = replace_shell_words(words, kRsh);
  outcome.words = join(words, " ");
  return outcome;
}

TEST(RemoteShell, SshIsKnownWithItsFolderAndItsOptions) {
  for (const char* shell : {"ssh", "ssh -q -p 222", "/usr/bin/ssh", "ssh : rsh", "rsh"})
    EXPECT_TRUE(names_ssh(shell)) << shell;
  for (const char* shell : {"", "/etc/mpi/kubexec.sh", "sshd", "my-ssh -q", "env ssh"})
    EXPECT_FALSE(names_ssh(shell)) << shell;
}

TEST(RemoteShell, WordsThatNameSshNameOurs) {
  const Outcome old = of({"mpirun", "--mca", "plm_rsh_agent", "ssh -q -p 222", "-n", "2", "a"});
  EXPECT_EQ(old.words, "mpirun --mca plm_rsh_agent /opt/muster-rsh -n 2 a");
  ASSERT_EQ(old.found.size(), 1U);
  EXPECT_EQ(old.found[0].name, "--mca plm_rsh_agent");
  EXPECT_EQ(old.found[0].given, "ssh -q -p 222");
  EXPECT_TRUE(old.found[0].replaced);
  EXPECT_EQ(of({"mpirun", "--prtemca", "plm_ssh_agent", "/usr/bin/ssh", "a"}).words,
            "mpirun --prtemca plm_ssh_agent /opt/muster-rsh a");
  EXPECT_EQ(of({"mpiexec", "-launcher-exec", "ssh", "a"}).words,
            "mpiexec -launcher-exec /opt/muster-rsh a");
  EXPECT_EQ(of({"mpiexec", "-bootstrap-exec=ssh", "a"}).words,
            "mpiexec -bootstrap-exec=/opt/muster-rsh a");
}

TEST(RemoteShell, OpenMpiTakesWords) {
  std::vector<std::string> words = {"mpirun", "--mca", "plm_rsh_agent", "ssh", "a"};
  EXPECT_EQ(replace_shell_words(words, kRsh, "/opt/muster rsh").size(), 1U);
  EXPECT_EQ(words[3], "/opt/muster rsh");
  words = {"mpiexec", "-launcher-exec", "ssh", "a"};
  EXPECT_EQ(replace_shell_words(words, kRsh, "/opt/muster rsh").size(), 1U);
  EXPECT_EQ(words[2], kRsh);
}

TEST(RemoteShell, OtherWordsStay) {
  const Outcome other = of({"mpirun", "--mca", "plm_rsh_agent", "/etc/mpi/kubexec.sh", "a"});
  EXPECT_EQ(other.words, "mpirun --mca plm_rsh_agent /etc/mpi/kubexec.sh a");
  ASSERT_EQ(other.found.size(), 1U);
  EXPECT_FALSE(other.found[0].replaced);
  for (const auto& words : {std::vector<std::string>{"mpirun", "--mca", "plm_rsh_args", "ssh", "a"},
                            {"mpirun", "a", "plm_rsh_agent", "ssh"},
                            {"mpirun", "--mca", "plm_rsh_agent"},
                            {"mpirun", "--mca", "plm_rsh_agent", kRsh, "a"},
                            {"mpiexec", "a", "-launcher-exec"}})
    EXPECT_TRUE(of(words).found.empty()) << join(words, " ");
}

TEST(RemoteShell, ASettingThatNamesSshGivesWay) {
  std::vector<PlannedVariable> settings = {{"OMPI_MCA_plm_rsh_agent", kRsh, "", ""},
                                           {"PRTE_MCA_plm_ssh_agent", kRsh, "", ""},
                                           {"HYDRA_LAUNCHER", "rsh", "", ""}};
  Environment user;
  user.set("OMPI_MCA_plm_rsh_agent", "ssh -q");
  user.set("PRTE_MCA_plm_ssh_agent", "/opt/wrapper");
  user.set("HYDRA_LAUNCHER", "ssh");
  user.set("OMPI_MCA_orte_rsh_agent", "ssh");
  const auto found = replace_shell_settings(settings, user);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].replaced);
  EXPECT_FALSE(found[1].replaced);
  EXPECT_EQ(found[2].name, "OMPI_MCA_orte_rsh_agent");
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[3].value, std::nullopt);
  EXPECT_EQ(settings[0].claim, Claim::kOverrides);
  EXPECT_EQ(settings[1].claim, Claim::kYields);
  EXPECT_EQ(settings[2].claim, Claim::kYields);
}

}  // namespace
}  // namespace muster::mpi
