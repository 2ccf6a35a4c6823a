#include "mpi/launch/rank_agent.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

std::string value_of(std::string_view name, const Environment& user) {
  for (const PlannedVariable& setting : rank_agent_settings("/m rank --", user)) {
    if (setting.name == name) return setting.value.value_or("");
  }
  return "none";
}

TEST(RankAgent, GoesBeforeTheUsersOwn) {
  Environment user;
  EXPECT_EQ(value_of("OMPI_MCA_orte_fork_agent", user), "/m rank --");
  EXPECT_EQ(value_of("PRTE_MCA_odls_base_exec_agent", user), "/m rank --");
  EXPECT_EQ(value_of("I_MPI_GTOOL", user), "/m rank --:all");
  user.set("OMPI_MCA_orte_fork_agent", "strace -f");
  user.set("I_MPI_GTOOL", "vtune -c hpc:0,3-4=exclusive; gdb:1 ;");
  EXPECT_EQ(value_of("OMPI_MCA_orte_fork_agent", user), "/m rank -- strace -f");
  EXPECT_EQ(value_of("I_MPI_GTOOL", user),
            "/m rank -- vtune -c hpc:0,3-4=exclusive;/m rank -- gdb:1;/m rank --:all");
}

TEST(RankAgent, GoesBeforeThatOfTheLaunchersWords) {
  std::vector<std::string> words = {"mpirun", "--mca", "orte_fork_agent", "strace", "-gtool",
                                    "gdb:0",  "a.out", "-gtool",          "x"};
  put_rank_agent("/m rank --", 6, words);
  EXPECT_EQ(words, (std::vector<std::string>{
                       "mpirun", "--mca", "orte_fork_agent", "/m rank -- strace", "-gtool",
                       "/m rank -- gdb:0;/m rank --:all", "a.out", "-gtool", "x"}));
}

TEST(RankAgent, IsMissedOnlyForTheLaunchersWords) {
  EXPECT_EQ(word_without_agent(2, {"mpirun", "-xterm", "0", "a.out"}), "-xterm");
  EXPECT_EQ(word_without_agent(3, {"mpirun", "-n", "2", "a.out", "--path", "--version"}), "");
  EXPECT_EQ(word_without_agent(2, {"mpirun", "path"}), "");
}

}  // namespace
}  // namespace muster::mpi
