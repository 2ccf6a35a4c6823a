#include "mpi/launch/launch_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace muster::mpi {
namespace {

using enum Implementation;

LaunchFacts facts_of(Implementation implementation, int major) {
  LaunchFacts facts;
  facts.launcher = {implementation, major};
  facts.rsh_program = "/usr/bin/muster-rsh";
  facts.hostfile = "/run/hosts";
  facts.hosts = 4;
  facts.interface = "eth0";
  facts.network = "10.0.0.0/24";
  return facts;
}

// Values by name; "(none)" = must not be set.
std::map<std::string, std::string> values(const LaunchFacts& facts) {
  std::map<std::string, std::string> found;
  const auto settings = launch_settings(facts);
  EXPECT_TRUE(settings);
  if (!settings) return found;
  for (const PlannedVariable& setting : *settings)
    EXPECT_TRUE(found.emplace(setting.name, setting.value.value_or("(none)")).second)
        << setting.name;
  return found;
}

TEST(LaunchSettings, OpenMpiGetsTheNamesOfBothGenerationsWhicheverIsThere) {
  for (const int major : {4, 5}) {
    const auto found = values(facts_of(kOpenMpi, major));
    for (const char* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"})
      EXPECT_EQ(found.at(name), "/usr/bin/muster-rsh");
    for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"})
      EXPECT_EQ(found.at(name), "/run/hosts");
    for (const char* name :
         {"PRTE_MCA_prte_keep_fqdn_hostnames", "OMPI_MCA_if_base_do_not_resolve"})
      EXPECT_EQ(found.at(name), "1");
    for (const char* name :
         {"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"})
      EXPECT_EQ(found.at(name), "none");
    for (const char* name :
         {"OMPI_MCA_oob_tcp_if_include", "PRTE_MCA_prte_if_include", "OMPI_MCA_btl_tcp_if_include"})
      EXPECT_EQ(found.at(name), "10.0.0.0/24");
  }
}

// The daemons of Open MPI ask on their own nodes whether the program is there.
TEST(LaunchSettings, OpenMpiIsToldWordsIfTheLinkIsOnTheLaunchersNodeAlone) {
  for (const auto& [implementation, name] :
       {std::pair(kOpenMpi, "OMPI_MCA_plm_rsh_agent"), std::pair(kMpich, "HYDRA_LAUNCHER_EXEC")}) {
    LaunchFacts facts = facts_of(implementation, 4);
    facts.rsh_words = "/usr/bin/muster rsh";
    EXPECT_EQ(values(facts).at(name),
              implementation == kOpenMpi ? facts.rsh_words : facts.rsh_program);
  }
}

// A host called worker-0.zone that is the node worker-0 would not find itself in the hostfile.
TEST(LaunchSettings, OpenMpi4KeepsWhatIsBehindADotOnlyWhereTheHostfileHasDots) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  EXPECT_FALSE(values(facts).contains("OMPI_MCA_orte_keep_fqdn_hostnames"));
  facts.has_dotted_names = true;
  EXPECT_EQ(values(facts).at("OMPI_MCA_orte_keep_fqdn_hostnames"), "1");
}

// For whoever may call any of them.
std::map<std::string, std::string> caller_values(const LaunchFacts& facts) {
  std::map<std::string, std::string> found;
  const auto settings = caller_settings(facts);
  EXPECT_TRUE(settings);
  if (!settings) return found;
  for (const PlannedVariable& setting : *settings) found.emplace(setting.name, *setting.value);
  return found;
}

TEST(LaunchSettings, WhoeverMayCallAnyMpiGetsTheSettingsOfAll) {
  const auto found = caller_values(facts_of(kOpenMpi, 4));
  for (const char* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent",
                           "HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"})
    EXPECT_EQ(found.at(name), "/usr/bin/muster-rsh") << name;
  for (const char* name : {"HYDRA_LAUNCHER", "I_MPI_HYDRA_BOOTSTRAP"})
    EXPECT_EQ(found.at(name), "rsh") << name;
  for (const char* name : {"HYDRA_IFACE", "I_MPI_HYDRA_IFACE"})
    EXPECT_EQ(found.at(name), "eth0") << name;
  EXPECT_EQ(found.at("OMPI_MCA_btl_tcp_if_include"), "10.0.0.0/24");
}

TEST(LaunchSettings, WhoeverCallsNoneIsLeftAlone) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  facts.slots = 2;
  const auto found = caller_values(facts);
  // Where ranks go is the caller's to say; HOSTNAME is his; others read what is UCX's.
  for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                           "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST", "HOSTNAME",
                           "UCX_NET_DEVICES", "FI_TCP_IFACE", "I_MPI_PMI_LIBRARY"})
    EXPECT_FALSE(found.contains(name)) << name;
}

TEST(LaunchSettings, WithoutIpv4CallersHaveOpenMpiAlone) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  facts.has_ipv4 = false;
  const auto found = caller_values(facts);
  EXPECT_TRUE(found.contains("OMPI_MCA_plm_rsh_agent"));
  EXPECT_FALSE(found.contains("HYDRA_LAUNCHER"));
  EXPECT_FALSE(found.contains("I_MPI_HYDRA_BOOTSTRAP"));
}

TEST(LaunchSettings, CallersNeedAPathThatLaunchersDoNotSplit) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  facts.rsh_program = "/opt/my tools/muster-rsh";
  const auto settings = caller_settings(facts);
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::kConfig);
}

TEST(LaunchSettings, AsManyRemoteShellsAsHostsMayLive) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  EXPECT_EQ(values(facts).at("OMPI_MCA_plm_rsh_num_concurrent"), "128");
  facts.hosts = 300;
  EXPECT_EQ(values(facts).at("OMPI_MCA_plm_rsh_num_concurrent"), "300");
  EXPECT_EQ(values(facts).at("PRTE_MCA_plm_ssh_num_concurrent"), "300");
}

TEST(LaunchSettings, RootIsAllowedOnlyWhereTheLauncherIsRoot) {
  LaunchFacts facts = facts_of(kOpenMpi, 5);
  EXPECT_FALSE(values(facts).contains("OMPI_ALLOW_RUN_AS_ROOT"));
  facts.is_root = true;
  EXPECT_EQ(values(facts).at("OMPI_ALLOW_RUN_AS_ROOT"), "1");
  EXPECT_EQ(values(facts).at("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
}

TEST(LaunchSettings, HydraCallsBackToAnAddress) {
  const auto found = values(facts_of(kMpich, 4));
  EXPECT_EQ(found.at("HYDRA_LAUNCHER"), "rsh");
  EXPECT_EQ(found.at("HYDRA_LAUNCHER_EXEC"), "/usr/bin/muster-rsh");
  EXPECT_EQ(found.at("HYDRA_HOST_FILE"), "/run/hosts");
  EXPECT_EQ(found.at("HYDRA_IFACE"), "eth0");
  EXPECT_EQ(found.at("HOSTNAME"), "(none)");
}

TEST(LaunchSettings, UcxKeepsItsChoiceWhereThereIsRdma) {
  LaunchFacts facts = facts_of(kMpich, 5);
  EXPECT_EQ(values(facts).at("UCX_NET_DEVICES"), "eth0");
  facts.has_rdma = true;
  EXPECT_FALSE(values(facts).contains("UCX_NET_DEVICES"));
}

TEST(LaunchSettings, IntelMpiHasAStartDeadlineOfItsOwn) {
  LaunchFacts facts = facts_of(kIntelMpi, 2021);
  facts.start_deadline = std::chrono::seconds(90);
  const auto found = values(facts);
  EXPECT_EQ(found.at("I_MPI_HYDRA_BOOTSTRAP"), "rsh");
  EXPECT_EQ(found.at("I_MPI_HYDRA_BOOTSTRAP_EXEC"), "/usr/bin/muster-rsh");
  EXPECT_EQ(found.at("I_MPI_HYDRA_HOST_FILE"), "/run/hosts");
  EXPECT_EQ(found.at("I_MPI_HYDRA_IFACE"), "eth0");
  EXPECT_EQ(found.at("FI_TCP_IFACE"), "eth0");
  EXPECT_EQ(found.at("I_MPI_JOB_STARTUP_TIMEOUT"), "90");
  EXPECT_EQ(found.at("I_MPI_PIN"), "off");
}

TEST(LaunchSettings, IntelMpiIsToldHowManyRanksEachHostTakes) {
  LaunchFacts facts = facts_of(kIntelMpi, 2021);
  EXPECT_EQ(launch_arguments(facts), (std::vector<std::string>{"-machinefile", "/run/hosts"}));
  EXPECT_FALSE(values(facts).contains("I_MPI_PERHOST"));
  facts.slots = 4;
  EXPECT_EQ(values(facts).at("I_MPI_PERHOST"), "4");
}

TEST(LaunchSettings, OpenMpi5DoesNotUseLoopbackForItsDaemons) {
  LaunchFacts facts = facts_of(kOpenMpi, 5);
  facts.network = "127.0.0.0/8";
  EXPECT_FALSE(values(facts).contains("PRTE_MCA_prte_if_include"));
  EXPECT_EQ(values(facts).at("OMPI_MCA_btl_tcp_if_include"), "127.0.0.0/8");
}

TEST(LaunchSettings, WhatIsNotKnownIsNotSet) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  facts.network.clear();
  EXPECT_FALSE(values(facts).contains("OMPI_MCA_btl_tcp_if_include"));
  facts = facts_of(kMpich, 4);
  facts.interface.clear();
  EXPECT_FALSE(values(facts).contains("HYDRA_IFACE"));
}

TEST(LaunchSettings, EverySettingSaysWhyAndWhoFoundOut) {
  for (const auto& [implementation, major] :
       {std::pair(kOpenMpi, 5), std::pair(kMpich, 4), std::pair(kIntelMpi, 2021)}) {
    LaunchFacts facts = facts_of(implementation, major);
    facts.is_root = true;
    const auto settings = launch_settings(facts);
    ASSERT_TRUE(settings);
    for (const PlannedVariable& setting : *settings) {
      EXPECT_FALSE(setting.reason.empty()) << setting.name;
      EXPECT_FALSE(setting.source.empty()) << setting.name;
    }
  }
}

TEST(LaunchSettings, PathsThatLaunchersWouldSplitAreRefused) {
  LaunchFacts facts = facts_of(kOpenMpi, 4);
  facts.rsh_program = "/opt/my tools/muster-rsh";
  EXPECT_EQ(launch_settings(facts).error().text,
            "remote shell '/opt/my tools/muster-rsh': a space or colon in it, where MPI launchers "
            "split");
  facts = facts_of(kMpich, 4);
  facts.hostfile = "hosts";
  EXPECT_EQ(launch_settings(facts).error().text, "hostfile 'hosts': not an absolute path");
}

TEST(LaunchSettings, HydraNeedsIpv4) {
  LaunchFacts facts = facts_of(kMpich, 5);
  facts.has_ipv4 = false;
  const auto settings = launch_settings(facts);
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::kConfig);
  EXPECT_EQ(
      settings.error().text,
      "mpiexec of MPICH does not speak IPv6, and eth0, by which the nodes reach each other, has "
      "no IPv4 address");
  facts.launcher.implementation = kOpenMpi;
  EXPECT_TRUE(launch_settings(facts));
}

TEST(LaunchSettings, OpenMpi5IsGivenNoStdinThatNobodyReads) {
  LaunchFacts facts = facts_of(kOpenMpi, 5);
  EXPECT_EQ(launch_arguments(facts), (std::vector<std::string>{"--stdin", "none"}));
  facts.wants_stdin = true;
  EXPECT_TRUE(launch_arguments(facts).empty());
  EXPECT_TRUE(launch_arguments(facts_of(kOpenMpi, 4)).empty());
  EXPECT_TRUE(launch_arguments(facts_of(kMpich, 5)).empty());
}

PlannedEnvironment merged(const LaunchFacts& facts, const Environment& user) {
  const auto settings = launch_settings(facts);
  EXPECT_TRUE(settings);
  EnvironmentPlan plan;
  if (settings) plan.add(EnvironmentLayer::kMpi, *settings);
  return plan.merge(user);
}

TEST(LaunchSettings, TheUsersOwnSettingsStay) {
  Environment user;
  user.set("OMPI_MCA_plm_rsh_agent", "/usr/bin/ssh");
  user.set("OMPI_MCA_btl_tcp_if_exclude", "lo,docker0");
  user.set("OMPI_MCA_hwloc_base_binding_policy", "none");
  const auto [environment, decisions] = merged(facts_of(kOpenMpi, 4), user);
  EXPECT_EQ(kept_names(decisions),
            (std::vector<std::string>{"OMPI_MCA_btl_tcp_if_exclude", "OMPI_MCA_plm_rsh_agent"}));
  EXPECT_EQ(environment.get("OMPI_MCA_plm_rsh_agent"), "/usr/bin/ssh");
  EXPECT_FALSE(environment.has("OMPI_MCA_btl_tcp_if_include"));
  EXPECT_EQ(environment.get("PRTE_MCA_plm_ssh_agent"), "/usr/bin/muster-rsh");
}

TEST(LaunchSettings, WhatMustNotBeSetIsRemoved) {
  Environment user;
  user.set("I_MPI_PMI_LIBRARY", "/usr/lib/slurm/libpmi.so");
  const auto [environment, decisions] = merged(facts_of(kIntelMpi, 2021), user);
  EXPECT_TRUE(kept_names(decisions).empty());
  EXPECT_FALSE(environment.has("I_MPI_PMI_LIBRARY"));
}

TEST(LaunchSettings, RanksWithoutALauncherUseTheAgentsNetwork) {
  const auto names = [](const std::vector<PlannedVariable>& settings) {
    std::vector<std::string> assignments;
    for (const PlannedVariable& setting : settings)
      assignments.push_back(setting.name + "=" + setting.value.value_or("(none)"));
    return assignments;
  };
  EXPECT_EQ(names(rank_settings("eth0", false)),
            (std::vector<std::string>{"UCX_NET_DEVICES=eth0", "FI_TCP_IFACE=eth0"}));
  EXPECT_EQ(names(rank_settings("eth0", true)), std::vector<std::string>{"FI_TCP_IFACE=eth0"});
  EXPECT_TRUE(rank_settings("", false).empty());
  EXPECT_EQ(rank_settings("eth0", false).at(0).source, "tried: MPICH 5.0.2");
  EXPECT_EQ(names(openmpi_rank_settings("10.0.0.0/24")),
            std::vector<std::string>{"OMPI_MCA_btl_tcp_if_include=10.0.0.0/24"});
  EXPECT_EQ(openmpi_rank_settings("10.0.0.0/24").at(0).rival, "OMPI_MCA_btl_tcp_if_exclude");
  EXPECT_TRUE(openmpi_rank_settings("").empty());
}

TEST(LaunchSettings, RanksThatMayNotReadEachOthersMemoryCopy) {
  std::vector<std::string> names;
  for (const auto& setting : copying_settings()) {
    names.push_back(setting.name + "=" + setting.value.value());
    EXPECT_EQ(setting.claim, Claim::kYields);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                             "MPIR_CVAR_CH4_CMA_ENABLE=0"}));
}

TEST(LaunchSettings, WhereOnlyTheLauncherHasTheRemoteShellNoDaemonStartsAnotherOrLeavesIt) {
  for (const auto& [implementation, name, value] :
       {std::tuple(Implementation::kOpenMpi, "OMPI_MCA_plm_rsh_no_tree_spawn", "1"),
        std::tuple(Implementation::kOpenMpi, "PRTE_MCA_plm_ssh_no_tree_spawn", "1"),
        std::tuple(Implementation::kOpenMpi, "OMPI_MCA_orte_leave_session_attached", "1"),
        std::tuple(Implementation::kIntelMpi, "I_MPI_HYDRA_BRANCH_COUNT", "40")}) {
    LaunchFacts facts;
    facts.launcher = {implementation, 4};
    facts.rsh_program = "/r";
    facts.hostfile = "/h";
    facts.hosts = 40;
    for (const bool flat : {false, true}) {
      facts.flat = flat;
      std::string found;
      const auto settings = launch_settings(facts);
      for (const auto& setting : settings.value()) {
        if (setting.name == name) found = setting.value.value();
      }
      EXPECT_EQ(found, flat ? value : "") << name;
    }
  }
}

}  // namespace
}  // namespace muster::mpi
