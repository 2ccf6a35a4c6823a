#include "nccl/checks/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster::nccl {

CheckQuestion make_question(const NodeFacts& node, const ProbeResults& probes,
                            const CheckedJob& job) {
  return {.node = node,
          .probes = probes,
          .job = job,
          .plan = plan_fabric(node.fabric, {.has_many_nodes = job.has_many_nodes,
                                            .plans_fabric = job.has_many_nodes}),
          .hcas = choose_hcas(node.fabric.machine),
          .gpus = usable_accelerators(node.fabric.machine).size()};
}

std::vector<const RdmaDevice*> ready_rdma_devices(const Machine& machine) {
  std::vector<const RdmaDevice*> ready;
  for (const RdmaDevice& device : machine.rdma) {
    const bool has_link = std::ranges::any_of(device.ports, &RdmaPort::is_active);
    if (device.has_device_node && has_link) ready.push_back(&device);
  }
  return ready;
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  // Whole numbers without a point, others with one digit.
  const bool is_whole = value == static_cast<double>(static_cast<uint64_t>(value));
  return is_whole ? fmt::format("{:.0f} {}", value, kUnits[unit])
                  : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace muster::nccl
