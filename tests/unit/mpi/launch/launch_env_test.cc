#include "mpi/launch/launch_env.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::mpi {
namespace {

std::string family_of(std::string_view name) {
  const RankVariable* row = find_rank_variable(name);
  return row == nullptr ? "" : std::string(row->family);
}

TEST(LaunchEnv, RanksOfEveryFamilyAreKnown) {
  EXPECT_EQ(family_of("OMPI_COMM_WORLD_LOCAL_RANK"), "Open MPI");
  EXPECT_EQ(family_of("OMPI_MCA_orte_hnp_uri"), "Open MPI");
  EXPECT_EQ(family_of("OMPI_MCA_ess_base_vpid"), "Open MPI");
  EXPECT_EQ(family_of("PMIX_RANK"), "PMIx");
  EXPECT_EQ(family_of("PMIX_SERVER_URI41"), "PMIx");
  EXPECT_EQ(family_of("PMI_FD"), "PMI");
  EXPECT_EQ(family_of("MPI_LOCALRANKID"), "Hydra");
  EXPECT_EQ(family_of("I_MPI_INFO_NUMA_NODE_NUM"), "Intel MPI");
  EXPECT_EQ(family_of("MV2_COMM_WORLD_RANK"), "MVAPICH2");
  EXPECT_EQ(family_of("SLURM_PROCID"), "Slurm step");
  EXPECT_EQ(family_of("SLURM_PMIX_MAPPING_SERV"), "Slurm step");
  EXPECT_EQ(family_of("FLUX_TASK_RANK"), "Flux");
  EXPECT_EQ(family_of("PALS_RANKID"), "PALS");
}

TEST(LaunchEnv, FactsOfTheJobAndSettingsOfTheUserAreNot) {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODEID", "SLURM_NNODES", "SLURM_CPUS_PER_TASK",
        "SLURM_RESTART_COUNT", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_plm_rsh_agent", "OMPI_ALLOW_RUN_AS_ROOT", "PMIX_MCA_gds", "I_MPI_FABRICS",
        "MV2_ENABLE_AFFINITY", "FLUX_URI", "RANK", "PATH", "PET_NNODES", ""}) {
    EXPECT_EQ(family_of(name), "") << name;
  }
}

TEST(LaunchEnv, ExactNamesAreNotPrefixes) {
  EXPECT_EQ(family_of("SLURM_PROCID2"), "");
  EXPECT_EQ(family_of("SLURM_PROCI"), "");
  EXPECT_EQ(family_of("OMPI_COMM_WORLD"), "");
}

TEST(LaunchEnv, EveryRowHasASourceAndIsReached) {
  std::set<std::string_view> names;
  for (const RankVariable& row : rank_variables()) {
    EXPECT_FALSE(row.family.empty()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_EQ(find_rank_variable(row.name), &row) << row.name << " is hidden by an earlier row";
  }
}

}  // namespace
}  // namespace muster::mpi
