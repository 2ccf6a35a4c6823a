#include "mpi/launch/implementation.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::mpi {
namespace {

using enum Implementation;

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
