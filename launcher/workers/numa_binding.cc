#include "launcher/workers/numa_binding.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/check.h"

namespace muster::launcher {
namespace {

using nccl::Accelerator;
using nccl::NumaNode;
using nccl::Topology;

// Where one worker belongs: a node, and its place among all that claim a part of that node.
struct Place {
  const NumaNode* node = nullptr;
  size_t index = 0;      // among the claimants of the node
  size_t claimants = 1;  // of the node
  std::string why;       // "of NVIDIA GPU 0000:9d:00.0"
};

std::vector<const NumaNode*> nodes_with_cpus(const BindingInputs& inputs) {
  std::vector<const NumaNode*> nodes;
  for (const NumaNode& node : inputs.topology.nodes) {
    if (!intersect(node.cpus, inputs.allowed).empty()) nodes.push_back(&node);
  }
  return nodes;
}

const NumaNode* find_node(const Topology& topology, const Accelerator& device) {
  if (!device.numa_node) return topology.nodes.size() == 1 ? &topology.nodes.front() : nullptr;
  for (const NumaNode& node : topology.nodes) {
    if (node.id == *device.numa_node) return &node;
  }
  return nullptr;
}

std::string name_of(const Accelerator& device) {
  const std::string& id = device.pci_address.empty() ? device.device_node : device.pci_address;
  return fmt::format("{} {}", to_string(device.kind), id);
}

// The node of each device; none when any is unknown.
std::optional<std::vector<const NumaNode*>> nodes_of_devices(const BindingInputs& inputs) {
  std::vector<const NumaNode*> nodes;
  for (const Accelerator& device : inputs.devices) {
    nodes.push_back(find_node(inputs.topology, device));
    if (nodes.back() == nullptr) return std::nullopt;
  }
  return nodes;
}

Place place_among(const std::vector<const NumaNode*>& claims, size_t own, std::string why) {
  const auto begin = claims.begin();
  const auto self = begin + static_cast<std::ptrdiff_t>(own);
  return {*self, static_cast<size_t>(std::count(begin, self, *self)),
          static_cast<size_t>(std::count(begin, claims.end(), *self)), std::move(why)};
}

// One claim for each accelerator or worker, whichever are more: a node with fewer workers than
// accelerators keeps the shares of the unused ones free, as torchrun does.
Place place_by_device(const BindingInputs& inputs, const std::vector<const NumaNode*>& nodes,
                      size_t rank, size_t workers) {
  std::vector<const NumaNode*> claims;
  for (size_t i = 0; i < std::max(workers, nodes.size()); ++i) {
    claims.push_back(nodes[i % nodes.size()]);
  }
  return place_among(claims, rank, "of " + name_of(inputs.devices[rank % nodes.size()]));
}

Place place_by_rank(const std::vector<const NumaNode*>& nodes, size_t rank, size_t workers,
                    std::string why) {
  std::vector<const NumaNode*> claims;
  for (size_t i = 0; i < workers; ++i) claims.push_back(nodes[i * nodes.size() / workers]);
  return place_among(claims, rank, std::move(why));
}

Result<Place> find_place(const BindingInputs& inputs, size_t rank, size_t workers) {
  const std::vector<const NumaNode*> nodes = nodes_with_cpus(inputs);
  if (nodes.empty()) {
    return Error{Code::kConfig, 0,
                 fmt::format("no NUMA node holds any allowed CPU (allowed: {}; known nodes: {})",
                             format_cpu_list(inputs.allowed), inputs.topology.nodes.size())};
  }
  const auto near = nodes_of_devices(inputs);
  if (near && !near->empty()) return place_by_device(inputs, *near, rank, workers);
  std::string why = fmt::format("for worker {} of {}, {}", rank, workers,
                                near ? "no accelerators" : "NUMA nodes of accelerators unknown");
  return place_by_rank(nodes, rank, workers, std::move(why));
}

// Those of `groups` that have CPUs in `within`, cut to them.
std::vector<CpuSet> cut_to(const std::vector<CpuSet>& groups, const CpuSet& within) {
  std::vector<CpuSet> parts;
  for (const CpuSet& group : groups) {
    if (CpuSet part = intersect(group, within); !part.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

CpuSet unite(const std::vector<CpuSet>& parts) {
  CpuSet all;
  for (const CpuSet& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}

Binding bind_socket(const BindingInputs& inputs, const Place& place) {
  std::vector<CpuSet> parts;
  std::string ids;
  for (const nccl::Socket& socket : inputs.topology.sockets) {
    // A guest may show one node over two sockets: then both are meant.
    if (intersect(socket.cpus, place.node->cpus).empty()) continue;
    parts.push_back(intersect(socket.cpus, inputs.allowed));
    ids += (ids.empty() ? "" : "+") + std::to_string(socket.id);
  }
  return {unite(parts),
          fmt::format("allowed CPUs of socket {}, NUMA node {}", ids, place.node->id)};
}

Result<Binding> bind_exclusive(const BindingInputs& inputs, const Place& place,
                               const CpuSet& node_cpus) {
  const std::vector<CpuSet> cores = cut_to(inputs.topology.cores, node_cpus);
  if (cores.size() < place.claimants) {
    return Error{
        Code::kConfig, 0,
        fmt::format("{} allowed cores on NUMA node {} for {} shares (allowed CPUs there: "
                    "{})",
                    cores.size(), place.node->id, place.claimants, format_cpu_list(node_cpus))};
  }
  const size_t share = cores.size() / place.claimants;
  const size_t extra = cores.size() % place.claimants;
  const size_t first = place.index * share + std::min(place.index, extra);
  const size_t count = share + (place.index < extra ? 1 : 0);
  const auto begin = cores.begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<CpuSet> own(begin, begin + static_cast<std::ptrdiff_t>(count));
  return Binding{unite(own),
                 fmt::format("{} of {} cores, share {} of {} on NUMA node {}", count, cores.size(),
                             place.index + 1, place.claimants, place.node->id)};
}

Binding bind_core_complex(const BindingInputs& inputs, const Place& place,
                          const CpuSet& node_cpus) {
  std::vector<CpuSet> groups = cut_to(inputs.topology.cache_groups, node_cpus);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CpuSet& a, const CpuSet& b) { return a.size() > b.size(); });
  const size_t chosen = place.index % groups.size();
  return {groups[chosen], fmt::format("cache group {} of {} on NUMA node {}", chosen + 1,
                                      groups.size(), place.node->id)};
}

Result<Binding> bind_at(NumaBinding mode, const BindingInputs& inputs, const Place& place) {
  CpuSet node_cpus = intersect(place.node->cpus, inputs.allowed);
  if (node_cpus.empty()) {
    return Error{
        Code::kConfig, 0,
        fmt::format("none of the CPUs of NUMA node {} ({}) is allowed ({})", place.node->id,
                    format_cpu_list(place.node->cpus), format_cpu_list(inputs.allowed))};
  }
  switch (mode) {
    case NumaBinding::kNode:
      return Binding{std::move(node_cpus),
                     fmt::format("allowed CPUs of NUMA node {}", place.node->id)};
    case NumaBinding::kSocket:
      return bind_socket(inputs, place);
    case NumaBinding::kExclusive:
      return bind_exclusive(inputs, place, node_cpus);
    case NumaBinding::kCoreComplex:
      return bind_core_complex(inputs, place, node_cpus);
  }
  return Error{Code::kInternal, 0, "unknown NUMA binding"};
}

}  // namespace

Result<Binding> decide_binding(NumaBinding mode, const BindingInputs& inputs, int local_rank,
                               int local_world_size) {
  MUSTER_CHECK(local_rank >= 0 && local_rank < local_world_size);
  const auto context = [local_rank] { return fmt::format("worker {}", local_rank); };
  Result<Place> place =
      find_place(inputs, static_cast<size_t>(local_rank), static_cast<size_t>(local_world_size));
  if (!place) return std::move(place.error()).with_context(context());
  Result<Binding> binding = bind_at(mode, inputs, *place);
  if (!binding) {
    return std::move(binding.error()).with_context(context() + ", " + place->why);
  }
  binding->reason =
      fmt::format("{}: {} {}", format_cpu_list(binding->cpus), binding->reason, place->why);
  return binding;
}

}  // namespace muster::launcher
