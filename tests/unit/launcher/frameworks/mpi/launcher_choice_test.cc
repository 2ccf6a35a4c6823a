#include "launcher/frameworks/mpi/launcher_choice.h"

#include <gtest/gtest.h>

#include "tests/support/elf_program.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using mpi::Implementation;

class ChooseLauncherTest : public ::testing::Test {
 protected:
  // Both of Debian's, and a program that needs `library`.
  void install(const std::string& library) {
    for (const char* path : {"/usr/bin/mpirun.openmpi", "/usr/bin/mpiexec.mpich"})
      files_.add_executable(path);
    files_.add_executable("/app/ring", testing::elf_program({library, "libc.so.6"}));
  }
  Result<FoundLauncher> choose(std::optional<Implementation> wanted) {
    return choose_launcher(files_, "/usr/bin", wanted, "/app/ring");
  }
  testing::FakeFiles files_;
};

TEST_F(ChooseLauncherTest, TheProgramTellsWhich) {
  install("libmpich.so.12");
  EXPECT_EQ(choose({})->path, "/usr/bin/mpiexec.mpich");
  install("libmpi.so.40");
  EXPECT_EQ(choose({})->path, "/usr/bin/mpirun.openmpi");
}

TEST_F(ChooseLauncherTest, WhatTellsNothingIsStartedByTheFirst) {
  install("libpython3.11.so.1.0");
  EXPECT_EQ(choose({})->path, "/usr/bin/mpirun.openmpi");
  EXPECT_EQ(choose(Implementation::kMpich)->path, "/usr/bin/mpiexec.mpich");
}

TEST_F(ChooseLauncherTest, AnotherMpiThanTheProgramsIsRefused) {
  install("libmpich.so.12");
  const auto refused = choose(Implementation::kOpenMpi);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  EXPECT_EQ(refused.error().text,
            "'/app/ring' was built for MPICH, and --mpi says Open MPI: each rank would be a job of "
            "its own");
  EXPECT_TRUE(choose(Implementation::kMpich));
}

TEST_F(ChooseLauncherTest, ALauncherThatIsMissingIsNotReplacedByAnother) {
  install("libmpich.so.12");
  EXPECT_EQ(choose_launcher(files_, "/bin", {}, "/app/ring").error().text,
            "'/app/ring' was built for MPICH: no launcher of Intel MPI or MPICH on PATH '/bin': "
            "looked for mpiexec.hydra, mpiexec.mpich, mpiexec, mpirun");
}

TEST_F(ChooseLauncherTest, AgentsThatStartTheRanksStartNoLauncher) {
  FrameworkOptions framework;
  framework.framework = Framework::kMpi;
  framework.mpi_launch = MpiLaunch::kPmi;
  const Status checked = check_rank_program(files_, framework, "/usr/bin/mpiexec.mpich");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kConfig);
  EXPECT_EQ(checked.error().text,
            "'/usr/bin/mpiexec.mpich' starts ranks by itself, once on each node; with --mpi-launch "
            "pmi the command is what each rank runs");
}

TEST_F(ChooseLauncherTest, WhatAgentsStartMustAskThemInTheirWay) {
  const auto problem = [this](MpiLaunch launch) {
    FrameworkOptions framework;
    framework.framework = Framework::kMpi;
    framework.mpi_launch = launch;
    const Status checked = check_rank_program(files_, framework, "/app/ring");
    return checked ? "" : checked.error().text;
  };
  install("libmpich.so.12");
  EXPECT_EQ(problem(MpiLaunch::kPmi), "");
  EXPECT_EQ(problem(MpiLaunch::kMpirun), "");
  EXPECT_EQ(problem(MpiLaunch::kPmix),
            "'/app/ring' was built for MPICH, which needs --mpi-launch pmi: each rank would be a "
            "job of its own");
  install("libmpi.so.40");
  EXPECT_EQ(problem(MpiLaunch::kPmix), "");
  EXPECT_EQ(problem(MpiLaunch::kPmi),
            "'/app/ring' was built for Open MPI, which needs --mpi-launch pmix: each rank would be "
            "a job of its own");
  install("libpython3.11.so.1.0");
  EXPECT_EQ(problem(MpiLaunch::kPmi), "");
}

}  // namespace
}  // namespace muster::launcher
