#include "nccl/machine/pci.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/sysfs.h"
#include "nccl/machine/topology.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kFunctions = "/sys/bus/pci/devices";
constexpr std::string_view kHostBridge = "pci";  // "pci0000:15"

std::string file_of(const std::string& address, std::string_view file) {
  return std::string(kFunctions) + "/" + address + "/" + std::string(file);
}

int id_of(std::string_view text) {
  const auto value = parse_hexadecimal(text);
  return value && *value <= 0xffffff ? static_cast<int>(*value) : 0;
}

int read_id(const Files& files, const std::string& path) {
  return id_of(read_attribute(files, path).value_or(""));
}

// "../../../devices/pci0000:15/0000:15:01.0/0000:18:00.0": what is between the host bridge and the
// function. NVMe and Hyper-V put other folders in front of the bridge.
std::vector<std::string> bridges_above(const Files& files, const std::string& address) {
  std::vector<std::string> above;
  const auto target = files.link_target(std::string(kFunctions) + "/" + address);
  if (!target) return above;
  for (const std::string_view part : split(*target, '/')) {
    if (part.starts_with(kHostBridge) && part.find(':') != std::string_view::npos) above.clear();
    const bool counts = part.starts_with(kHostBridge) ||
                        (!above.empty() && normalize_pci_address(part).has_value());
    if (counts && above.size() < kMaxPciDepth) above.emplace_back(to_lower(part));
  }
  if (!above.empty() && above.back() == address) above.pop_back();
  return above;
}

// "0000:1b:00" of "0000:1b:00.1".
std::string_view card_of(std::string_view address) { return address.substr(0, address.rfind('.')); }

}  // namespace

std::optional<int64_t> parse_hexadecimal(std::string_view text) {
  constexpr size_t kMaxDigits = 8;
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<PciFunction> read_pci_function(const Files& files, const std::string& address) {
  const auto vendor = read_attribute(files, file_of(address, "vendor"));
  if (!vendor) return std::nullopt;
  PciFunction function;
  function.address = address;
  function.vendor = id_of(*vendor);
  function.device = read_id(files, file_of(address, "device"));
  const auto node = read_integer(files, file_of(address, "numa_node"));
  if (node && *node >= 0 && *node < kMaxNumaNodes) function.numa_node = static_cast<int>(*node);
  function.above = bridges_above(files, address);
  return function;
}

std::vector<PciModel> read_network_cards(const Files& files) {
  constexpr std::string_view kNetworkClass = "0x02";
  std::vector<PciModel> cards;
  const auto names = files.list(std::string(kFunctions));
  if (!names) return cards;
  size_t looked_at = 0;
  for (const std::string& name : *names) {
    if (++looked_at > kMaxPciFunctions) break;
    const auto address = normalize_pci_address(name);
    if (!address || *address != name) continue;
    const auto class_text = read_attribute(files, file_of(name, "class"));
    if (!class_text || !class_text->starts_with(kNetworkClass)) continue;
    cards.push_back(
        {read_id(files, file_of(name, "vendor")), read_id(files, file_of(name, "device"))});
  }
  return cards;
}

PciDistance distance(const PciFunction& a, const PciFunction& b) {
  if (!a.address.empty() && card_of(a.address) == card_of(b.address)) return PciDistance::kSameCard;
  const auto [left, right] =
      std::mismatch(a.above.begin(), a.above.end(), b.above.begin(), b.above.end());
  const auto shared = left - a.above.begin();
  if (shared >= 2) {
    // A switch is an upstream port that is shared and a downstream port for each of the two.
    const bool one_switch = a.above.end() - left <= 1 && b.above.end() - right <= 1;
    return one_switch ? PciDistance::kPix : PciDistance::kPxb;
  }
  const bool same_node = a.numa_node && a.numa_node == b.numa_node;
  const bool nodes_differ = a.numa_node && b.numa_node && a.numa_node != b.numa_node;
  if (same_node || (shared == 1 && !nodes_differ)) return PciDistance::kHostBridge;
  return PciDistance::kSystem;
}

bool is_flattened(const PciFunction& function) { return function.above.size() == 1; }

std::string linked_name(const Files& files, const std::string& path) {
  const auto target = files.link_target(path);
  return target ? std::string(base_name(*target)) : "";
}

std::optional<std::string> linked_pci_address(const Files& files, const std::string& path) {
  const std::string name = linked_name(files, path);
  return name.empty() ? std::nullopt : normalize_pci_address(name);
}

}  // namespace muster::nccl
