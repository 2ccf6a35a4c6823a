#include "nccl/machine/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

std::string cpu_path(int cpu, const std::string& file) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file;
}

bool contains(const CpuSet& cpus, int cpu) {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

// Old and small kernels lack one list or the other; the first that says something wins.
CpuSet read_online(const Files& files) {
  for (const char* list : {"online", "present", "possible"}) {
    const auto cpus = read_cpu_list(files, std::string("/sys/devices/system/cpu/") + list);
    if (cpus && !cpus->empty()) return *cpus;
  }
  return {};
}

std::vector<NumaNode> read_nodes(const Files& files, const CpuSet& online) {
  const std::string root = "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  const Result<std::vector<std::string>> names = files.list(root);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const std::optional<int> id = number_after(name, "node");
    if (!id || *id >= kMaxNumaNodes) continue;
    const auto cpus = read_cpu_list(files, root + "/" + name + "/cpulist");
    nodes.push_back({*id, intersect(cpus.value_or(CpuSet()), online)});
  }
  if (nodes.empty() && !online.empty()) nodes.push_back({0, online});
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  return nodes;
}

// Groups the online CPUs by a set that `read_group` gives for the first CPU of each group. A set
// that does not hold its own CPU, or claims one that is taken, is cut to what is left: files of
// different CPUs may disagree while CPUs go on- and off-line.
template <typename ReadGroup>
std::vector<CpuSet> group_cpus(const CpuSet& online, const ReadGroup& read_group) {
  std::vector<bool> is_left(kMaxCpus, false);
  for (const int cpu : online) is_left[static_cast<size_t>(cpu)] = true;
  std::vector<CpuSet> groups;
  for (const int first : online) {
    if (!is_left[static_cast<size_t>(first)]) continue;
    CpuSet group = read_group(first);
    std::erase_if(group, [&is_left](int cpu) { return !is_left[static_cast<size_t>(cpu)]; });
    if (!contains(group, first)) group = {first};
    for (const int cpu : group) is_left[static_cast<size_t>(cpu)] = false;
    groups.push_back(std::move(group));
  }
  return groups;
}

CpuSet read_siblings(const Files& files, int cpu) {
  // core_cpus_list is the newer name (5.4); older kernels and recorded machines have the other.
  auto siblings = read_cpu_list(files, cpu_path(cpu, "topology/thread_siblings_list"));
  if (!siblings) siblings = read_cpu_list(files, cpu_path(cpu, "topology/core_cpus_list"));
  return siblings.value_or(CpuSet{cpu});
}

std::vector<Socket> read_sockets(const Files& files, const std::vector<CpuSet>& cores) {
  std::map<int, CpuSet> by_id;
  for (const CpuSet& core : cores) {
    const auto id = read_integer(files, cpu_path(core.front(), "topology/physical_package_id"));
    CpuSet& cpus = by_id[id && *id >= 0 && *id < kMaxCpus ? static_cast<int>(*id) : -1];
    cpus.insert(cpus.end(), core.begin(), core.end());
  }
  std::vector<Socket> sockets;
  for (auto& [id, cpus] : by_id) {
    std::sort(cpus.begin(), cpus.end());
    sockets.push_back({id, std::move(cpus)});
  }
  return sockets;
}

// The CPUs that share the highest-level cache of `cpu` that holds data; none without cache files.
std::optional<CpuSet> read_last_level_cache(const Files& files, int cpu) {
  int64_t highest = 0;
  std::optional<CpuSet> shared;
  for (int index = 0; index < kMaxCacheIndexes; ++index) {
    const std::string path = cpu_path(cpu, "cache/index" + std::to_string(index) + "/");
    const auto level = read_integer(files, path + "level");
    if (!level) break;  // indexes have no gaps
    if (*level <= highest || read_attribute(files, path + "type") == "Instruction") continue;
    if (auto cpus = read_cpu_list(files, path + "shared_cpu_list"); cpus) {
      highest = *level;
      shared = std::move(cpus);
    }
  }
  return shared;
}

CpuSet socket_of(const std::vector<Socket>& sockets, int cpu) {
  for (const Socket& socket : sockets) {
    if (contains(socket.cpus, cpu)) return socket.cpus;
  }
  return {cpu};
}

}  // namespace

Topology read_topology(const Files& files) {
  Topology topology;
  topology.online = read_online(files);
  topology.nodes = read_nodes(files, topology.online);
  topology.cores =
      group_cpus(topology.online, [&files](int cpu) { return read_siblings(files, cpu); });
  topology.sockets = read_sockets(files, topology.cores);
  topology.cache_groups = group_cpus(topology.online, [&files, &topology](int cpu) {
    return read_last_level_cache(files, cpu).value_or(socket_of(topology.sockets, cpu));
  });
  return topology;
}

}  // namespace muster::nccl
