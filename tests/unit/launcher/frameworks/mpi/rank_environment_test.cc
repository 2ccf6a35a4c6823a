#include "launcher/frameworks/mpi/rank_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::launcher {
namespace {

rendezvous::Assign round_of(std::initializer_list<std::pair<const char*, int>> nodes) {
  rendezvous::Assign round;
  for (const auto& [host, workers] : nodes) {
    rendezvous::RosterEntry entry;
    entry.host = host;
    entry.workers = workers;
    round.roster.push_back(entry);
  }
  return round;
}

TEST(MasterVariables, NameTheFirstNodeWithRanks) {
  const auto round = round_of({{"10.0.0.1", 0}, {"10.0.0.2", 2}, {"10.0.0.3", 2}});
  const auto variables = master_variables(round, "job");
  ASSERT_EQ(variables.size(), 2U);
  EXPECT_EQ(variables[0].name, "MASTER_ADDR");
  EXPECT_EQ(variables[0].value, "10.0.0.2");
  EXPECT_EQ(variables[1].name, "MASTER_PORT");
  EXPECT_EQ(variables[0].claim, Claim::kYields);
}

TEST(MasterVariables, ThePortIsTheSameForOneRoundAndBelowThoseThatAreHandedOut) {
  const auto round = round_of({{"10.0.0.1", 1}});
  const auto port = [&round](std::string_view seed) {
    return *parse_integer(*master_variables(round, seed)[1].value);
  };
  EXPECT_EQ(port("10.0.0.1:29400 1 job"), port("10.0.0.1:29400 1 job"));
  EXPECT_NE(port("10.0.0.1:29400 1 job"), port("10.0.0.1:29400 2 job"));
  for (const char* seed : {"", "a", "b", "10.0.0.1:29400 1 job"}) {
    EXPECT_GE(port(seed), 20'000);
    EXPECT_LT(port(seed), 28'000);
  }
}

TEST(MasterVariables, WithoutRanksThereAreNone) {
  EXPECT_TRUE(master_variables(round_of({{"10.0.0.1", 0}}), "job").empty());
  EXPECT_TRUE(master_variables({}, "job").empty());
}

std::vector<std::string> names_of(const std::vector<PlannedVariable>& variables) {
  std::vector<std::string> names;
  for (const PlannedVariable& variable : variables) names.push_back(variable.name);
  return names;
}

TEST(NetworkBelowLauncher, LeavesTheNetworkOfOpenMpiToItsLauncher) {
  const auto below = network_below_launcher({{"GLOO_SOCKET_IFNAME", "eth0", "", ""},
                                             {"OMPI_MCA_btl_tcp_if_include", "eth0", "", ""},
                                             {"OMPI_MCA_oob_tcp_if_include", "eth0", "", ""},
                                             {"OMPI_MCA_pml", "ucx", "", ""}});
  EXPECT_EQ(names_of(below), (std::vector<std::string>{"GLOO_SOCKET_IFNAME", "OMPI_MCA_pml"}));
  EXPECT_EQ(names_of(network_of_launcher(below)), (std::vector<std::string>{"OMPI_MCA_pml"}));
}

TEST(NodeVariables, TellRanksThatNobodyBindsThem) {
  const auto has_mark = [](const std::vector<PlannedVariable>& variables) {
    return std::ranges::any_of(variables,
                               [](const auto& each) { return each.name == "MUSTER_RANK_UNBOUND"; });
  };
  EXPECT_TRUE(has_mark(node_variables(true)));
  EXPECT_FALSE(has_mark(node_variables(false)));
}

}  // namespace
}  // namespace muster::launcher
