#include "launcher/frameworks/mpi/mpi_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using mpi::Implementation;

bool has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

TEST(FindLauncher, DebianHasBothInOneFolder) {
  testing::FakeFiles files;
  for (const char* name : {"orterun", "orted", "mpiexec.hydra", "hydra_pmi_proxy"})
    files.add_executable("/usr/bin/" + std::string(name));
  files.add_link("/usr/bin/mpirun.openmpi", "orterun");
  files.add_link("/usr/bin/mpiexec.mpich", "mpiexec.hydra");
  const auto any = find_launcher(files, "/usr/bin", {});
  ASSERT_TRUE(any.has_value());
  EXPECT_EQ(any->path, "/usr/bin/mpirun.openmpi");
  EXPECT_EQ(any->kind.major, 4);
  const auto mpich = find_launcher(files, "/usr/bin", {Implementation::kMpich});
  ASSERT_TRUE(mpich.has_value());
  EXPECT_EQ(mpich->path, "/usr/bin/mpiexec.mpich");
}

TEST(FindLauncher, ADaemonBesideItTellsWhoseItIs) {
  testing::FakeFiles files;
  files.add_executable("/opt/a/mpirun");
  files.add_file("/opt/a/prted", "");
  files.add_executable("/opt/b/mpiexec");
  files.add_file("/opt/b/hydra_pmi_proxy", "");
  files.add_executable("/opt/c/mpiexec.hydra");
  files.add_file("/opt/c/hydra_bstrap_proxy", "");
  files.add_file("/opt/c/hydra_pmi_proxy", "");
  EXPECT_EQ(find_launcher(files, "/opt/a", {})->kind.major, 5);
  EXPECT_EQ(find_launcher(files, "/opt/b", {})->kind.implementation, Implementation::kMpich);
  EXPECT_EQ(find_launcher(files, "/opt/c", {})->kind.implementation, Implementation::kIntelMpi);
}

TEST(FindLauncher, TheOneInFrontOnPathIsMeant) {
  testing::FakeFiles files;
  for (const char* path : {"/usr/bin/mpiexec.mpich", "/usr/bin/mpirun.openmpi", "/opt/b/mpiexec"})
    files.add_executable(path);
  files.add_file("/opt/b/hydra_pmi_proxy", "");
  for (const auto& wanted : {std::vector{Implementation::kMpich}, std::vector<Implementation>()})
    EXPECT_EQ(find_launcher(files, "/opt/b:/usr/bin", wanted)->path, "/opt/b/mpiexec");
  EXPECT_EQ(find_launcher(files, "/opt/b:/usr/bin", {Implementation::kOpenMpi})->path,
            "/usr/bin/mpirun.openmpi");
}

TEST(FindLauncher, NoneIsAnErrorThatSaysWhatWasLookedFor) {
  testing::FakeFiles files;
  const auto none = find_launcher(files, "/bin", {Implementation::kIntelMpi});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().os_errno, ENOENT);
  EXPECT_EQ(none.error().text, "no launcher of Intel MPI on PATH '/bin': looked for mpiexec.hydra");
  const std::string any = find_launcher(files, "/bin", {}).error().text;
  EXPECT_EQ(any.find("mpiexec.hydra"), any.rfind("mpiexec.hydra")) << any;
}

TEST(LauncherName, IsTheLastPartOfThePath) {
  EXPECT_TRUE(is_launcher_name("/opt/openmpi/bin/mpirun"));
  EXPECT_TRUE(is_launcher_name("mpiexec.hydra"));
  EXPECT_FALSE(is_launcher_name("./a.out"));
  EXPECT_FALSE(is_launcher_name("mpirun/a.out"));
}

TEST(RouteOf, IsTheInterfaceWithTheAddress) {
  const std::vector<InterfaceAddress> addresses = {
      {"lo", "127.0.0.1", true, true, false, 8},
      {"docker0", "172.17.0.1", true, false, false, 16},
      {"eth0", "10.1.2.3", true, false, false, 20},
      {"eth0", "fd00::3", true, false, false, 0}};
  EXPECT_EQ(route_of(addresses, "10.1.2.3").interface, "eth0");
  EXPECT_EQ(route_of(addresses, "10.1.2.3").network, "10.1.0.0/20");
  EXPECT_EQ(route_of(addresses, "127.0.1.7").network, "127.0.0.0/8");
  EXPECT_EQ(route_of(addresses, "fd00::3").interface, "eth0");
  EXPECT_EQ(route_of(addresses, "fd00::3").network, "");
  EXPECT_TRUE(route_of(addresses, "fd00::3").has_ipv4);
  EXPECT_FALSE(route_of({addresses.back()}, "fd00::3").has_ipv4);
  EXPECT_EQ(route_of(addresses, "10.1.2.4").interface, "");
}

TEST(BytesWritten, AreWhatTheKernelCounts) {
  testing::FakeFiles files;
  files.add_file("/proc/7/io", "rchar: 10\nwchar: 123456789012\nsyscr: 3\n");
  files.add_file("/proc/8/io", "rchar: 10\n");
  EXPECT_EQ(bytes_written(files, 7), 123456789012U);
  EXPECT_EQ(bytes_written(files, 8), std::nullopt);
  EXPECT_EQ(bytes_written(files, 9), std::nullopt);
}

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    plan_.facts.launcher = {.implementation = Implementation::kMpich};
    plan_.facts.rsh_program = "/opt/muster-rsh";
    plan_.facts.hostfile = "/tmp/hosts";
    plan_.facts.interface = "eth0";
    plan_.path = "/usr/bin/mpiexec";
    plan_.command = {"/bin/a.out", {"a.out", "-x"}};
    plan_.muster = "/opt/muster";
    plan_.world_size = 4;
    plan_.report = "10.0.0.1:29400 1 job";
    plan_.agent_token = "token";
    agent_.set("PATH", "/bin");
  }
  MpiLaunchPlan plan_;
  Environment agent_;
};

TEST_F(PlanTest, TheLauncherStartsEveryRankThroughUs) {
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  const JobLauncher& launcher = launch->launcher;
  EXPECT_EQ(launcher.name, "mpiexec");
  EXPECT_EQ(launcher.program, "/usr/bin/mpiexec");
  ASSERT_EQ(launcher.arguments.size(), 10u);
  EXPECT_EQ(launcher.arguments[1], "-genvlist");
  EXPECT_TRUE(launcher.arguments[2].starts_with("MUSTER_RANK_REPORT,HYDRA_LAUNCHER,"));
  EXPECT_EQ(join({launcher.arguments.begin() + 3, launcher.arguments.end()}, " "),
            "-n 4 /opt/muster rank -- a.out -x");
  EXPECT_TRUE(has(launcher.environment, "HYDRA_HOST_FILE=/tmp/hosts"));
  EXPECT_TRUE(has(launcher.environment, "MUSTER_RANK_REPORT=10.0.0.1:29400 1 job"));
  EXPECT_TRUE(has(launcher.environment, "MUSTER_AGENT_ID=token"));
}

TEST_F(PlanTest, OpenMpiHandsNoEnvironmentOn) {
  plan_.facts.launcher = {.implementation = Implementation::kOpenMpi, .major = 4};
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher.arguments[1], "-n");
}

TEST_F(PlanTest, TheUsersOwnLauncherKeepsItsWords) {
  plan_.users_own = true;
  plan_.command = {"/usr/bin/mpiexec", {"mpiexec", "-n", "2", "a.out"}};
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(join(launch->launcher.arguments, " "), "mpiexec -n 2 a.out");
  EXPECT_TRUE(has(launch->launcher.environment, "HYDRA_LAUNCHER_EXEC=/opt/muster-rsh"));
}

TEST_F(PlanTest, TheUsersOwnWordsGetOursBeforeTheProgram) {
  plan_.users_own = true;
  plan_.programs = {{3}};
  plan_.command = {"/usr/bin/mpiexec", {"mpiexec", "-n", "2", "a.out", "-n"}};
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(join(launch->launcher.arguments, " "), "mpiexec -n 2 /opt/muster rank -- a.out -n");
}

TEST_F(PlanTest, RanksAreToldWhetherThereIsInput) {
  const auto variables = [this] { return plan_mpi_launch(plan_, agent_)->launcher.environment; };
  EXPECT_TRUE(has(variables(), "MUSTER_RANK_STDIN=none"));
  plan_.facts.wants_stdin = true;
  plan_.users_own = true;
  plan_.programs = {{3}};
  plan_.command = {"/usr/bin/mpiexec", {"mpiexec", "-s", "all", "a.out", "-s"}};
  EXPECT_TRUE(has(variables(), "MUSTER_RANK_STDIN=given"));
  plan_.command.words[1] = "-n";
  const std::vector<std::string> plain = variables();
  EXPECT_TRUE(std::none_of(plain.begin(), plain.end(), [](const std::string& variable) {
    return variable.starts_with("MUSTER_RANK_STDIN");
  }));
}

TEST_F(PlanTest, WhereNodesHaveNoAgentTheProgramAndItsEnvironmentStayAsTheyAre) {
  plan_.watched = false;
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher.program, "/opt/muster");
  EXPECT_EQ(join(launch->launcher.arguments, " "),
            "muster tend /usr/bin/mpiexec /usr/bin/mpiexec -n 4 a.out -x");
  EXPECT_EQ(launch->launcher.name, "mpiexec");
}

TEST_F(PlanTest, SettingsOfTheDaysOfSshdGiveWayWhereAgentsAre) {
  agent_.set("HYDRA_LAUNCHER_EXEC", "/usr/bin/ssh");
  plan_.users_own = true;
  plan_.command = {"/usr/bin/mpiexec", {"mpiexec", "-launcher-exec", "ssh", "a.out"}};
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(join(launch->launcher.arguments, " "), "mpiexec -launcher-exec /opt/muster-rsh a.out");
  EXPECT_TRUE(has(launch->launcher.environment, "HYDRA_LAUNCHER_EXEC=/opt/muster-rsh"));
  EXPECT_EQ(launch->shells.size(), 2U);
  plan_.watched = false;
  const auto by_sshd = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(by_sshd.has_value());
  EXPECT_TRUE(has(by_sshd->launcher.environment, "HYDRA_LAUNCHER_EXEC=/usr/bin/ssh"));
  EXPECT_TRUE(has(by_sshd->launcher.arguments, "ssh"));
}

TEST_F(PlanTest, EachOfTheUsersProgramsGetsThem) {
  plan_.users_own = true;
  plan_.programs = {{1}, {3, true}, {7}};
  plan_.command = {"/usr/bin/mpiexec",
                   {"mpiexec", "a", ":", "muster", "rank", "--", ":", "c", "d"}};
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(join(launch->launcher.arguments, " "),
            "mpiexec /opt/muster rank -- a : muster rank -- : /opt/muster rank -- c d");
}

TEST(WithoutScript, IntelMpisScriptGivesWayToTheProgramBesideIt) {
  testing::FakeFiles files;
  files.add_file("/opt/intel/bin/mpirun", "#!/bin/sh\n");
  const FoundLauncher intel{"/opt/intel/bin/mpirun", {.implementation = Implementation::kIntelMpi}};
  EXPECT_EQ(without_script(files, intel).path, "/opt/intel/bin/mpirun");
  files.add_executable("/opt/intel/bin/mpiexec.hydra");
  EXPECT_EQ(without_script(files, intel).path, "/opt/intel/bin/mpiexec.hydra");
  const FoundLauncher other{"/opt/intel/bin/mpirun", {.implementation = Implementation::kMpich}};
  EXPECT_EQ(without_script(files, other).path, "/opt/intel/bin/mpirun");
}

TEST_F(PlanTest, OuterRanksAndTheSecretStayOutAndTheUsersSettingsStand) {
  agent_.set("PMI_RANK", "3");
  agent_.set("MUSTER_JOB_SECRET_FILE", "/secret");
  agent_.set("HYDRA_IFACE", "net1");
  plan_.temp_folder = "/tmp/own";
  const auto launch = plan_mpi_launch(plan_, agent_);
  ASSERT_TRUE(launch.has_value());
  EXPECT_FALSE(has(launch->launcher.environment, "PMI_RANK=3"));
  EXPECT_FALSE(has(launch->launcher.environment, "MUSTER_JOB_SECRET_FILE=/secret"));
  EXPECT_TRUE(has(launch->launcher.environment, "HYDRA_IFACE=net1"));
  EXPECT_TRUE(has(launch->launcher.environment, "TMPDIR=/tmp/own"));
  EXPECT_TRUE(has(kept_names(launch->decisions), "HYDRA_IFACE"));
}

}  // namespace
}  // namespace muster::launcher
