#include "launcher/workers/numa_binding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::launcher {
namespace {

// A machine of tests/data with everything allowed, to be changed by the test.
struct Machine {
  explicit Machine(const std::string& name) {
    const RealFiles files(MUSTER_TEST_DATA "/machines/" + name);
    topology = nccl::read_topology(files);
    devices = nccl::discover_accelerators(files);
    allowed = topology.online;
  }

  Result<Binding> bind(NumaBinding mode, int local_rank, int local_world_size) const {
    return decide_binding(mode, {topology, devices, allowed}, local_rank, local_world_size);
  }

  // CPU lists of all ranks, or the text of the first error.
  std::vector<std::string> bind_all(NumaBinding mode, int local_world_size) const {
    std::vector<std::string> lists;
    for (int rank = 0; rank < local_world_size; ++rank) {
      const Result<Binding> binding = bind(mode, rank, local_world_size);
      if (!binding) return {binding.error().text};
      lists.push_back(format_cpu_list(binding->cpus));
    }
    return lists;
  }

  nccl::Topology topology;
  std::vector<nccl::Accelerator> devices;
  CpuSet allowed;
};

using Lists = std::vector<std::string>;

TEST(NumaBinding, NodeOfTheGpu) {
  const Machine machine("hgx-h100");
  const Lists lists = machine.bind_all(NumaBinding::kNode, 8);
  ASSERT_EQ(lists.size(), 8U);
  EXPECT_EQ(lists[3], "0-7,16-23");
  EXPECT_EQ(lists[4], "8-15,24-31");
  EXPECT_EQ(machine.bind(NumaBinding::kNode, 4, 8)->reason,
            "8-15,24-31: allowed CPUs of NUMA node 1 of NVIDIA GPU 0000:9d:00.0");
}

TEST(NumaBinding, OrderOfDevicesIsNotThatOfNodes) {
  EXPECT_EQ(Machine("epyc-nps4-mi300x").bind_all(NumaBinding::kNode, 4),
            (Lists{"0-3,16-19", "4-7,20-23", "12-15,28-31", "8-11,24-27"}));
}

TEST(NumaBinding, SocketIsAllNodesOfIt) {
  EXPECT_EQ(Machine("epyc-nps4-mi300x").bind_all(NumaBinding::kSocket, 2), (Lists{"0-31", "0-31"}));
  EXPECT_EQ(Machine("hgx-h100").bind_all(NumaBinding::kSocket, 8)[7], "8-15,24-31");
}

TEST(NumaBinding, ExclusiveSharesTheCoresOfTheNode) {
  EXPECT_EQ(Machine("hgx-h100").bind_all(NumaBinding::kExclusive, 8),
            (Lists{"0-1,16-17", "2-3,18-19", "4-5,20-21", "6-7,22-23", "8-9,24-25", "10-11,26-27",
                   "12-13,28-29", "14-15,30-31"}));
}

TEST(NumaBinding, ExclusiveGivesTheRemainderToTheFirst) {
  Machine machine("hgx-h100");
  machine.devices.resize(3);  // three on node 0, eight cores
  EXPECT_EQ(machine.bind_all(NumaBinding::kExclusive, 3),
            (Lists{"0-2,16-18", "3-5,19-21", "6-7,22-23"}));
  EXPECT_EQ(machine.bind(NumaBinding::kExclusive, 0, 3)->reason,
            "0-2,16-18: 3 of 8 cores, share 1 of 3 on NUMA node 0 of NVIDIA GPU 0000:1b:00.0");
}

TEST(NumaBinding, ExclusiveKeepsTheSharesOfUnusedGpusFree) {
  EXPECT_EQ(Machine("hgx-h100").bind_all(NumaBinding::kExclusive, 2),
            (Lists{"0-1,16-17", "2-3,18-19"}));
}

TEST(NumaBinding, ExclusiveNeverOverlapsWhenWorkersOutnumberGpus) {
  Machine machine("hgx-h100");
  machine.devices.resize(2);
  EXPECT_EQ(machine.bind_all(NumaBinding::kExclusive, 4),
            (Lists{"0-1,16-17", "2-3,18-19", "4-5,20-21", "6-7,22-23"}));
}

TEST(NumaBinding, CoreComplexTakesTheLargestFirstAndWraps) {
  Machine machine("epyc-nps4-mi300x");
  for (nccl::Accelerator& device : machine.devices) device.numa_node = 1;  // caches 4-5 and 6-7
  std::erase(machine.allowed, 5);
  EXPECT_EQ(machine.bind_all(NumaBinding::kCoreComplex, 4),
            (Lists{"6-7,22-23", "4,20-21", "6-7,22-23", "4,20-21"}));
}

TEST(NumaBinding, WithoutGpusWorkersAreSpreadInBlocks) {
  Machine machine("hgx-h100");
  machine.devices.clear();
  EXPECT_EQ(machine.bind_all(NumaBinding::kNode, 4),
            (Lists{"0-7,16-23", "0-7,16-23", "8-15,24-31", "8-15,24-31"}));
  EXPECT_EQ(machine.bind_all(NumaBinding::kExclusive, 3),
            (Lists{"0-3,16-19", "4-7,20-23", "8-15,24-31"}));
  EXPECT_EQ(machine.bind(NumaBinding::kNode, 3, 4)->reason,
            "8-15,24-31: allowed CPUs of NUMA node 1 for worker 3 of 4, no accelerators");
  Machine epyc("epyc-nps4-mi300x");
  epyc.devices.clear();
  EXPECT_EQ(epyc.bind_all(NumaBinding::kCoreComplex, 2), (Lists{"0-1,16-17", "8-9,24-25"}));
}

TEST(NumaBinding, WithoutGpusNodesWithoutAllowedCpusAreLeftOut) {
  Machine machine("hgx-h100");
  machine.devices.clear();
  machine.allowed = {8, 9, 10, 11};
  EXPECT_EQ(machine.bind_all(NumaBinding::kNode, 2), (Lists{"8-11", "8-11"}));
  EXPECT_EQ(machine.bind_all(NumaBinding::kExclusive, 2), (Lists{"8-9", "10-11"}));
}

TEST(NumaBinding, UnknownNodeOnAOneNodeMachineIsThatNode) {
  Machine machine("laptop");
  ASSERT_EQ(machine.devices.size(), 1U);
  ASSERT_EQ(machine.devices[0].numa_node, std::nullopt);
  EXPECT_EQ(machine.bind(NumaBinding::kNode, 0, 1)->reason,
            "0-7: allowed CPUs of NUMA node 0 of Intel XPU 0000:00:02.0");
}

TEST(NumaBinding, UnknownNodesOnALargerMachineMeanSpreading) {
  Machine machine("hgx-h100");
  machine.devices[5].numa_node.reset();
  const auto binding = machine.bind(NumaBinding::kNode, 0, 8);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->reason,
            "0-7,16-23: allowed CPUs of NUMA node 0 for worker 0 of 8, NUMA nodes of accelerators "
            "unknown");
  EXPECT_EQ(machine.bind_all(NumaBinding::kNode, 8)[4], "8-15,24-31");
}

TEST(NumaBinding, ResultsStayWithinTheAllowedSet) {
  Machine machine("hgx-h100");
  machine.allowed = {0, 1, 2, 3, 16, 24, 25};
  for (const NumaBinding mode :
       {NumaBinding::kNode, NumaBinding::kSocket, NumaBinding::kCoreComplex}) {
    for (int rank = 0; rank < 8; ++rank) {
      const auto binding = machine.bind(mode, rank, 8);
      ASSERT_TRUE(binding);
      EXPECT_EQ(intersect(binding->cpus, machine.allowed), binding->cpus);
    }
  }
}

TEST(NumaBinding, NothingAllowedNearTheGpuIsAnError) {
  Machine machine("hgx-h100");
  machine.allowed = {0, 1, 2, 3};
  const auto binding = machine.bind(NumaBinding::kNode, 6, 8);
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().code, Code::kConfig);
  EXPECT_EQ(binding.error().text,
            "worker 6, of NVIDIA GPU 0000:d1:00.0: none of the CPUs of NUMA node 1 "
            "(8-15,24-31) is allowed (0-3)");
}

TEST(NumaBinding, FewerCoresThanSharesIsAnError) {
  Machine machine("hgx-h100");
  machine.allowed = {0, 1, 16, 17};
  const auto binding = machine.bind(NumaBinding::kExclusive, 1, 8);
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().text,
            "worker 1, of NVIDIA GPU 0000:43:00.0: 2 allowed cores on NUMA node 0 for "
            "4 shares (allowed CPUs there: 0-1,16-17)");
}

TEST(NumaBinding, AMachineWithoutTopologyIsAnError) {
  const nccl::Topology nothing;
  const std::vector<nccl::Accelerator> devices;
  const CpuSet allowed = {0, 1};
  const auto binding = decide_binding(NumaBinding::kNode, {nothing, devices, allowed}, 0, 1);
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().code, Code::kConfig);
  EXPECT_EQ(binding.error().text,
            "worker 0: no NUMA node holds any allowed CPU (allowed: 0-1; known "
            "nodes: 0)");
}

}  // namespace
}  // namespace muster::launcher
