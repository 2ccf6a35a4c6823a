#include "nccl/machine/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

Topology topology_of(const std::string& machine) {
  return read_topology(RealFiles(MUSTER_TEST_DATA "/machines/" + machine));
}

std::vector<std::string> texts(const std::vector<CpuSet>& groups) {
  std::vector<std::string> lists;
  for (const CpuSet& group : groups) lists.push_back(format_cpu_list(group));
  return lists;
}

// Every online CPU is in exactly one of the groups.
void expect_partition(const CpuSet& online, const std::vector<CpuSet>& groups) {
  CpuSet all;
  for (const CpuSet& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, online);
}

TEST(Topology, LaptopIsOneNodeOneSocketOneCache) {
  const Topology topology = topology_of("laptop");
  EXPECT_EQ(format_cpu_list(topology.online), "0-7");
  ASSERT_EQ(topology.nodes.size(), 1U);
  EXPECT_EQ(topology.nodes[0].id, 0);
  ASSERT_EQ(topology.sockets.size(), 1U);
  EXPECT_EQ(topology.sockets[0].cpus, topology.online);
  EXPECT_EQ(texts(topology.cores), (std::vector<std::string>{"0,4", "1,5", "2,6", "3,7"}));
  EXPECT_EQ(texts(topology.cache_groups), std::vector<std::string>{"0-7"});
}

TEST(Topology, TwoSocketsWithHyperthreads) {
  const Topology topology = topology_of("hgx-h100");
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(format_cpu_list(topology.nodes[1].cpus), "8-15,24-31");
  ASSERT_EQ(topology.sockets.size(), 2U);
  EXPECT_EQ(topology.sockets[1].id, 1);
  EXPECT_EQ(format_cpu_list(topology.sockets[1].cpus), "8-15,24-31");
  EXPECT_EQ(topology.cores.size(), 16U);
  EXPECT_EQ(texts(topology.cache_groups), (std::vector<std::string>{"0-7,16-23", "8-15,24-31"}));
}

TEST(Topology, EpycHasManyCachesInFourNodesOfOneSocket) {
  const Topology topology = topology_of("epyc-nps4-mi300x");
  ASSERT_EQ(topology.nodes.size(), 4U);
  EXPECT_EQ(format_cpu_list(topology.nodes[3].cpus), "12-15,28-31");
  ASSERT_EQ(topology.sockets.size(), 1U);
  EXPECT_EQ(topology.cache_groups.size(), 8U);
  EXPECT_EQ(format_cpu_list(topology.cache_groups[1]), "2-3,18-19");
  expect_partition(topology.online, topology.cores);
  expect_partition(topology.online, topology.cache_groups);
}

TEST(Topology, RecordedGuest) {
  const Topology topology = topology_of("vm-hybrid-cgroup");
  EXPECT_EQ(texts(topology.cores), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(texts(topology.cache_groups), std::vector<std::string>{"0-1"});
  ASSERT_EQ(topology.nodes.size(), 1U);
  EXPECT_EQ(format_cpu_list(topology.nodes[0].cpus), "0-1");
}

TEST(Topology, MissingFilesDegradeStepByStep) {
  testing::FakeFiles files;
  EXPECT_TRUE(read_topology(files).online.empty());
  EXPECT_TRUE(read_topology(files).nodes.empty());
  files.add_file("/sys/devices/system/cpu/present", "0-2\n");
  const Topology topology = read_topology(files);
  ASSERT_EQ(topology.nodes.size(), 1U);
  EXPECT_EQ(format_cpu_list(topology.nodes[0].cpus), "0-2");
  ASSERT_EQ(topology.sockets.size(), 1U);
  EXPECT_EQ(topology.sockets[0].id, -1);
  EXPECT_EQ(texts(topology.cores), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(texts(topology.cache_groups), std::vector<std::string>{"0-2"});
}

TEST(Topology, ContradictoryFilesStillGiveEachCpuOnePlace) {
  testing::FakeFiles files;
  const std::string root = "/sys/devices/system/";
  files.add_file(root + "cpu/online", "0-3\n");
  files.add_file(root + "cpu/cpu0/topology/thread_siblings_list", "0,2,9\n");  // 9 is offline
  files.add_file(root + "cpu/cpu1/topology/thread_siblings_list", "2-3\n");    // not itself
  files.add_file(root + "cpu/cpu3/topology/core_cpus_list", "2-3\n");          // 2 is taken
  files.add_file(root + "node/node1/cpulist", "garbage");
  files.add_file(root + "node/node0/cpulist", "0-99\n");
  files.add_file(root + "node/has_cpu", "0\n");
  const Topology topology = read_topology(files);
  EXPECT_EQ(texts(topology.cores), (std::vector<std::string>{"0,2", "1", "3"}));
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(format_cpu_list(topology.nodes[0].cpus), "0-3");
  EXPECT_TRUE(topology.nodes[1].cpus.empty());
}

TEST(Topology, InstructionCachesAndMissingListsAreNotTheLastLevel) {
  testing::FakeFiles files;
  const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index";
  files.add_file("/sys/devices/system/cpu/online", "0-3\n");
  files.add_file(cache + "0/level", "1");
  files.add_file(cache + "0/type", "Data");
  files.add_file(cache + "0/shared_cpu_list", "0-1");
  files.add_file(cache + "1/level", "3");
  files.add_file(cache + "1/type", "Instruction");
  files.add_file(cache + "1/shared_cpu_list", "0-3");
  files.add_file(cache + "2/level", "2");
  files.add_file(cache + "2/type", "Unified");
  EXPECT_EQ(texts(read_topology(files).cache_groups), (std::vector<std::string>{"0-1", "2-3"}));
}

TEST(Topology, AnySingleFailedReadLeavesAValidTopology) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(MUSTER_TEST_DATA "/machines/laptop"));
  (void)read_topology(files);
  const size_t calls = files.calls();
  for (size_t n = 1; n <= calls; ++n) {
    files.fail_nth_call(n, EIO);
    const Topology topology = read_topology(files);
    EXPECT_EQ(topology.online.size(), 8U) << "call " << n;
    EXPECT_FALSE(topology.nodes.empty());
    expect_partition(topology.online, topology.cores);
    expect_partition(topology.online, topology.cache_groups);
  }
}

}  // namespace
}  // namespace muster::nccl
