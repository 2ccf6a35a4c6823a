#include "nccl/machine/rdma.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kClass = "/sys/class/infiniband";
constexpr std::string_view kVerbsClass = "/sys/class/infiniband_verbs";

std::vector<std::string> list_or_nothing(const Files& files, const std::string& path) {
  auto names = files.list(path);
  return names ? std::move(*names) : std::vector<std::string>();
}

// "ACTIVE" of "4: ACTIVE".
std::string word_behind_colon(const std::optional<std::string>& text) {
  if (!text) return "";
  const size_t colon = text->find(':');
  return std::string(
      trim(std::string_view(*text).substr(colon == std::string::npos ? 0 : colon + 1)));
}

LinkLayer link_layer_of(std::string_view text) {
  if (text == "InfiniBand") return LinkLayer::kInfiniBand;
  if (text == "Ethernet") return LinkLayer::kEthernet;
  return LinkLayer::kUnspecified;
}

RoceVersion read_version(const Files& files, const std::string& port, int index) {
  const auto text = read_attribute(files, fmt::format("{}/gid_attrs/types/{}", port, index));
  if (!text || text->empty()) return RoceVersion::kUnreadable;
  return *text == "RoCE v2" ? RoceVersion::kV2 : RoceVersion::kV1;
}

bool is_zero(const std::array<uint8_t, 16>& bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

void read_gids(const Files& files, const std::string& path, RdmaPort& port) {
  int empty = 0;
  bool unreadable = false;
  bool any_readable = port.link_layer != LinkLayer::kEthernet;
  for (int index = 0; index < kMaxGids && (empty < kMaxEmptyGids || !any_readable); ++index) {
    const auto text = files.read(fmt::format("{}/gids/{}", path, index), kMaxAttributeBytes);
    if (!text) {
      // EINVAL is a hole in the table; without a file the table has ended.
      if (text.error().os_errno == ENOENT) return;
      unreadable = true;
      ++empty;
      continue;
    }
    const auto bytes = parse_gid(trim(*text));
    if (!bytes || is_zero(*bytes)) {
      unreadable = true;
      ++empty;
      continue;
    }
    empty = 0;
    Gid gid{.index = index, .bytes = *bytes};
    if (port.link_layer == LinkLayer::kEthernet) {
      gid.version = read_version(files, path, index);
      if (gid.version == RoceVersion::kUnreadable) {
        unreadable = true;
      } else {
        any_readable = true;
        port.has_hole = port.has_hole || unreadable;
      }
    }
    port.gids.push_back(std::move(gid));
  }
}

int read_partition_key(const Files& files, const std::string& path) {
  for (int index = 0; index < kMaxPartitionKeys; ++index) {
    const auto text = read_attribute(files, fmt::format("{}/pkeys/{}", path, index));
    if (!text) break;
    const auto key = parse_hexadecimal(*text);
    if (key && *key != 0) return static_cast<int>(*key & 0xffff);
  }
  return 0;
}

std::string port_path(const std::string& device, int number) {
  return fmt::format("{}/{}/ports/{}", kClass, device, number);
}

RdmaPort read_port(const Files& files, const std::string& device, int number) {
  const std::string path = port_path(device, number);
  RdmaPort port;
  port.number = number;
  port.state = word_behind_colon(read_attribute(files, path + "/state"));
  port.physical_state = word_behind_colon(read_attribute(files, path + "/phys_state"));
  port.link_layer = link_layer_of(read_attribute(files, path + "/link_layer").value_or(""));
  const PortRate rate = parse_rate(read_attribute(files, path + "/rate").value_or(""));
  port.gbits = rate.gbits;
  port.lanes = rate.lanes;
  read_gids(files, path, port);
  if (port.link_layer == LinkLayer::kInfiniBand)
    port.partition_key = read_partition_key(files, path);
  return port;
}

// Device name -> "uverbs0".
std::map<std::string, std::string> read_verbs_names(const Files& files) {
  std::map<std::string, std::string> names;
  for (const std::string& name : list_or_nothing(files, std::string(kVerbsClass))) {
    if (!name.starts_with("uverbs") || names.size() == kMaxRdmaDevices) continue;
    const auto device = read_attribute(files, fmt::format("{}/{}/ibdev", kVerbsClass, name));
    if (device) names[*device] = name;
  }
  return names;
}

RdmaDevice read_device(const Files& files, const std::string& name) {
  const std::string path = std::string(kClass) + "/" + name;
  RdmaDevice device;
  device.name = name;
  if (const auto address = linked_pci_address(files, path + "/device"))
    device.pci = read_pci_function(files, *address);
  device.driver = linked_name(files, path + "/device/driver");
  device.interfaces = list_or_nothing(files, path + "/device/net");
  for (const std::string& port : list_or_nothing(files, path + "/ports")) {
    const auto number = number_after(port, "");
    if (number && static_cast<int>(device.ports.size()) < kMaxRdmaPorts)
      device.ports.push_back(read_port(files, name, *number));
  }
  return device;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_link_local(const Gid& gid) { return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80; }

bool is_ipv4(const Gid& gid) {
  const auto zeros = std::all_of(gid.bytes.begin(), gid.bytes.begin() + 10,
                                 [](uint8_t byte) { return byte == 0; });
  return zeros && gid.bytes[10] == 0xff && gid.bytes[11] == 0xff;
}

std::string to_string(const Gid& gid) {
  if (is_ipv4(gid)) {
    return fmt::format("{}.{}.{}.{}", gid.bytes[12], gid.bytes[13], gid.bytes[14], gid.bytes[15]);
  }
  std::string text;
  for (size_t i = 0; i < gid.bytes.size(); i += 2) {
    if (i > 0) text += ':';
    text += fmt::format("{:x}", gid.bytes[i] << 8 | gid.bytes[i + 1]);
  }
  return text;
}

std::optional<std::array<uint8_t, 16>> parse_gid(std::string_view text) {
  constexpr size_t kGroups = 8;
  constexpr size_t kDigits = 4;
  const auto groups = split(text, ':');
  if (groups.size() != kGroups) return std::nullopt;
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < kGroups; ++i) {
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(groups[i].data(), groups[i].data() + groups[i].size(), value, 16);
    if (groups[i].size() != kDigits || error != std::errc{} ||
        end != groups[i].data() + groups[i].size())
      return std::nullopt;
    bytes[2 * i] = static_cast<uint8_t>(value >> 8);
    bytes[2 * i + 1] = static_cast<uint8_t>(value & 0xff);
  }
  return bytes;
}

PortRate parse_rate(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 3 || words[1] != "Gb/sec" || !words[2].starts_with('(')) return {};
  const auto gbits = parse_number(words[0]);
  const std::string_view lanes = words[2].substr(1, words[2].find('X') - 1);
  if (!gbits || *gbits <= 0) return {};
  return {*gbits, number_after(lanes, "").value_or(0)};
}

bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      size_t end_a = i;
      size_t end_b = j;
      while (end_a < a.size() && is_digit(a[end_a])) ++end_a;
      while (end_b < b.size() && is_digit(b[end_b])) ++end_b;
      const std::string_view left = a.substr(i, end_a - i);
      const std::string_view right = b.substr(j, end_b - j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      i = end_a;
      j = end_b;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

std::vector<RdmaDevice> read_rdma_devices(const Files& files) {
  std::vector<RdmaDevice> devices;
  auto names = list_or_nothing(files, std::string(kClass));
  if (names.empty()) return devices;
  std::ranges::sort(names, natural_less);
  const auto verbs = read_verbs_names(files);
  for (const std::string& name : names) {
    if (devices.size() == kMaxRdmaDevices) break;
    RdmaDevice device = read_device(files, name);
    if (const auto found = verbs.find(name); found != verbs.end()) {
      device.device_node = "/dev/infiniband/" + found->second;
      device.has_device_node = files.exists(device.device_node);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

void read_gid_interfaces(const Files& files, std::vector<RdmaDevice>& devices) {
  for (RdmaDevice& device : devices) {
    for (RdmaPort& port : device.ports) {
      const std::string folder = port_path(device.name, port.number) + "/gid_attrs/ndevs/";
      for (Gid& gid : port.gids) {
        if (gid.version != RoceVersion::kUnreadable)
          gid.interface = read_attribute(files, folder + std::to_string(gid.index)).value_or("");
      }
    }
  }
}

}  // namespace muster::nccl
