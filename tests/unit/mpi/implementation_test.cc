#include "mpi/implementation.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::mpi {
namespace {

using enum Implementation;

TEST(Implementation, EachLauncherIsKnownByItsOwnWords) {
  EXPECT_EQ(identify_version_text("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://...\n"),
            (Launcher{kOpenMpi, 4, 1, 4}));
  // The same program under another name.
  EXPECT_EQ(identify_version_text("mpirun.openmpi (OpenRTE) 4.1.4\n"),
            (Launcher{kOpenMpi, 4, 1, 4}));
  EXPECT_EQ(identify_version_text("mpirun (Open MPI) 5.0.11\n"), (Launcher{kOpenMpi, 5, 0, 11}));
  EXPECT_EQ(identify_version_text("HYDRA build details:\n    Version:               4.0.2\n"
                                  "    Release Date:          Thu Apr  7 12:34:45 CDT 2022\n"),
            (Launcher{kMpich, 4, 0, 2}));
  EXPECT_EQ(identify_version_text("HYDRA build details:\n    Version:               5.0.2\n"),
            (Launcher{kMpich, 5, 0, 2}));
  EXPECT_EQ(identify_version_text("Intel(R) MPI Library for Linux* OS, Version 2021.18 Build "
                                  "20260101 (id: 0)\nCopyright 2003-2026, Intel Corporation.\n"),
            (Launcher{kIntelMpi, 2021, 18, 0}));
}

TEST(Implementation, PrterunIsOpenMpiFive) {
  const auto launcher = identify_version_text("prterun (PRRTE) 3.0.14\n");
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->implementation, kOpenMpi);
  EXPECT_EQ(launcher->major, 5);
}

TEST(Implementation, VersionsMayEndInWords) {
  EXPECT_EQ(identify_version_text("mpirun (Open MPI) 5.1.0rc2"), (Launcher{kOpenMpi, 5, 1, 0}));
  EXPECT_EQ(identify_version_text("mpirun (Open MPI) 6.0a1"), (Launcher{kOpenMpi, 6, 0, 0}));
}

TEST(Implementation, OtherProgramsAreNone) {
  EXPECT_FALSE(identify_version_text(""));
  EXPECT_FALSE(identify_version_text("srun 23.02\n"));
  EXPECT_FALSE(identify_version_text("mpirun (Open MPI) unknown\n"));
  EXPECT_FALSE(identify_version_text("HYDRA build details:\n"));
  EXPECT_FALSE(
      identify_version_text(std::string(kMaxVersionTextBytes, ' ') + "mpirun (Open MPI) 4.1.4\n"));
}

TEST(Implementation, SomePathsBelongToOneAlone) {
  EXPECT_EQ(identify_path("/usr/bin/orterun"), kOpenMpi);
  EXPECT_EQ(identify_path("/opt/ompi/bin/prterun"), kOpenMpi);
  EXPECT_EQ(identify_path("mpirun.openmpi"), kOpenMpi);
  EXPECT_EQ(identify_path("/usr/bin/mpiexec.mpich"), kMpich);
  EXPECT_EQ(identify_path("/usr/bin/mpiexec.hydra"), kMpich);
  EXPECT_EQ(identify_path("/opt/intel/oneapi/mpi/2021.18/bin/mpiexec.hydra"), kIntelMpi);
  // Anything may be behind these.
  EXPECT_EQ(identify_path("/usr/bin/mpirun"), std::nullopt);
  EXPECT_EQ(identify_path("/venv/bin/mpiexec.hydra"), std::nullopt);
  EXPECT_EQ(identify_path(""), std::nullopt);
}

TEST(Implementation, TheFlagTakesThreeNames) {
  EXPECT_EQ(*parse_implementation("openmpi"), kOpenMpi);
  EXPECT_EQ(*parse_implementation("MPICH"), kMpich);
  EXPECT_EQ(*parse_implementation("intel"), kIntelMpi);
  const auto unknown = parse_implementation("lam");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_EQ(unknown.error().text, "'lam' is no MPI known here; openmpi, mpich and intel are");
}

TEST(Implementation, AnExitCodeMaySayThatAnotherRankWasLost) {
  EXPECT_EQ(lost_rank_remark(kOpenMpi, 14), ", as Open MPI does when it loses another rank");
  EXPECT_EQ(lost_rank_remark(kMpich, 15), ", as MPICH does when it loses another rank");
  EXPECT_EQ(lost_rank_remark(std::nullopt, 15), lost_rank_remark(kMpich, 15));
  EXPECT_EQ(lost_rank_remark(kMpich, 14), "");  // MPI_ERR_TRUNCATE: an error of the program
  for (const int code : {0, 1, 3}) EXPECT_EQ(lost_rank_remark(std::nullopt, code), "");
}

TEST(Implementation, IntelsShellScriptIsNeverStarted) {
  EXPECT_EQ(launcher_names(kIntelMpi), (std::vector<std::string_view>{"mpiexec.hydra"}));
  for (const Implementation implementation : {kOpenMpi, kMpich, kIntelMpi}) {
    const auto names = launcher_names(implementation);
    ASSERT_FALSE(names.empty());
    // The best name is not one that could be any implementation's.
    EXPECT_NE(names.front(), "mpirun") << to_string(implementation);
  }
}

}  // namespace
}  // namespace muster::mpi
