#include "nccl/probe/fabric_summary.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::probe {
namespace {

auto name_of(const FabricDevice& device) {
  return std::tie(device.provider, device.domain, device.fabric);
}

}  // namespace

std::vector<FabricDevice> without_repetition(std::vector<FabricDevice> devices) {
  std::stable_sort(devices.begin(), devices.end(), [](const auto& left, const auto& right) {
    return name_of(left) < name_of(right);
  });
  std::vector<FabricDevice> result;
  for (FabricDevice& device : devices) {
    if (result.empty() || name_of(result.back()) != name_of(device)) {
      result.push_back(std::move(device));
      continue;
    }
    FabricDevice& kept = result.back();
    if (!kept.speed_bits_per_s) kept.speed_bits_per_s = device.speed_bits_per_s;
    if (!kept.pci) kept.pci = std::move(device.pci);
  }
  return result;
}

}  // namespace muster::probe
