#include "nccl/machine/accelerators.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "nccl/machine/amd_uuid.h"
#include "nccl/machine/sysfs.h"
#include "nccl/machine/topology.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kPciDisplayClass = "0x03";  // base class 03: display controllers
constexpr int kMaxTiles = 8;

std::vector<std::string> list_or_nothing(const Files& files, const std::string& path) {
  Result<std::vector<std::string>> names = files.list(path);
  return names ? std::move(*names) : std::vector<std::string>();
}

std::string pci_path(const std::string& address, const std::string& file) {
  return "/sys/bus/pci/devices/" + address + "/" + file;
}

void read_locality(const Files& files, Accelerator& device) {
  if (device.pci_address.empty()) return;
  const auto node = read_integer(files, pci_path(device.pci_address, "numa_node"));
  if (node && *node >= 0 && *node < kMaxNumaNodes) device.numa_node = static_cast<int>(*node);
  device.local_cpus =
      read_cpu_list(files, pci_path(device.pci_address, "local_cpulist")).value_or(CpuSet());
}

// --- NVIDIA

// An instance may be used where the device node of its capability exists.
bool has_capability(const Files& files, const std::string& access_file) {
  const auto text = read_attribute(files, access_file);
  const auto value = text ? line_value(*text, "DeviceFileMinor") : std::nullopt;
  const auto minor = value ? number_after(*value, "") : std::nullopt;
  return minor && files.exists(fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor));
}

// How many compute instances below gpu<minor>/mig have both their own and their GPU instance's
// capability here. None when the GPU is not in MIG mode.
std::optional<int> count_mig_instances(const Files& files, int gpu_minor) {
  const std::string root = fmt::format("/proc/driver/nvidia/capabilities/gpu{}/mig/", gpu_minor);
  bool any_instance = false;
  int usable = 0;
  for (const std::string& gi : list_or_nothing(files, root)) {
    if (!number_after(gi, "gi")) continue;
    any_instance = true;
    if (!has_capability(files, root + gi + "/access")) continue;
    for (const std::string& ci : list_or_nothing(files, root + gi)) {
      if (!number_after(ci, "ci") || usable == kMaxMigInstances) continue;
      usable += has_capability(files, root + gi + "/" + ci + "/access") ? 1 : 0;
    }
  }
  // The directory without instances also exists on a MIG-capable GPU whose MIG mode is off.
  return any_instance ? std::optional<int>(usable) : std::nullopt;
}

std::optional<Accelerator> read_nvidia(const Files& files, const std::string& name) {
  const auto address = normalize_pci_address(name);
  if (!address) return std::nullopt;
  Accelerator device;
  device.pci_address = *address;
  const Result<std::string> information =
      files.read("/proc/driver/nvidia/gpus/" + name + "/information", kMaxAttributeBytes);
  if (information) {
    const auto minor = line_value(*information, "Device Minor");
    if (const auto number = minor ? number_after(*minor, "") : std::nullopt; number) {
      device.device_node = fmt::format("/dev/nvidia{}", *number);
      device.accessible = files.exists(device.device_node);
      device.mig_instances = count_mig_instances(files, *number);
    }
    // The driver prints question marks until somebody has opened the GPU.
    const auto uuid = line_value(*information, "GPU UUID");
    if (uuid && uuid->find('?') == std::string_view::npos) device.uuid = *uuid;
  }
  read_locality(files, device);
  return device;
}

// Where /proc/driver/nvidia is hidden (gVisor, hand-made containers) the nodes themselves count.
std::vector<Accelerator> nvidia_from_device_nodes(const Files& files) {
  std::vector<int> minors;
  for (const std::string& name : list_or_nothing(files, "/dev")) {
    if (const auto minor = number_after(name, "nvidia"); minor) minors.push_back(*minor);
  }
  std::sort(minors.begin(), minors.end());
  std::vector<Accelerator> devices;
  for (const int minor : minors) {
    Accelerator device;
    device.device_node = fmt::format("/dev/nvidia{}", minor);
    device.accessible = true;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<Accelerator> discover_nvidia(const Files& files) {
  std::vector<Accelerator> devices;
  for (const std::string& name : list_or_nothing(files, "/proc/driver/nvidia/gpus")) {
    if (auto device = read_nvidia(files, name); device) devices.push_back(std::move(*device));
  }
  return devices.empty() ? nvidia_from_device_nodes(files) : devices;
}

// --- AMD

std::optional<Accelerator> read_kfd_node(const Files& files, const std::string& path) {
  // Node directories of CPUs have gpu_id 0; those of GPUs that the device cgroup hides cannot be
  // read (EPERM) and are left out, as ROCm leaves them out.
  const auto gpu_id = read_integer(files, path + "/gpu_id");
  const auto properties = read_attribute(files, path + "/properties");
  if (!gpu_id || *gpu_id == 0 || !properties) return std::nullopt;
  const auto number = [&properties](std::string_view key) {
    const auto value = line_value(*properties, key);
    return value ? parse_integer(*value).value_or(0) : 0;
  };
  Accelerator device;
  device.kind = AcceleratorKind::kAmd;
  device.pci_address =
      kfd_pci_address(number("domain"), number("location_id")).value_or(std::string());
  device.device_node = fmt::format("/dev/dri/renderD{}", number("drm_render_minor"));
  device.accessible = files.exists("/dev/kfd") && files.exists(device.device_node);
  device.uuid = amd_uuid(line_value(*properties, "unique_id").value_or(""));
  read_locality(files, device);
  return device;
}

std::vector<Accelerator> discover_amd(const Files& files) {
  const std::string root = "/sys/class/kfd/kfd/topology/nodes";
  std::vector<int> numbers;
  for (const std::string& name : list_or_nothing(files, root)) {
    if (const auto number = number_after(name, ""); number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<Accelerator> devices;
  for (const int number : numbers) {
    if (devices.size() == kMaxAccelerators) break;
    auto device = read_kfd_node(files, root + "/" + std::to_string(number));
    if (device) devices.push_back(std::move(*device));
  }
  return devices;
}

// --- Intel

int count_tiles(const Files& files, const std::string& address) {
  int tiles = 0;  // the xe driver makes one tileN directory for each
  while (tiles < kMaxTiles &&
         files.is_directory(pci_path(address, "tile" + std::to_string(tiles)))) {
    ++tiles;
  }
  return std::max(tiles, 1);
}

std::optional<Accelerator> read_intel(const Files& files, const std::string& address) {
  const auto device_class = read_attribute(files, pci_path(address, "class"));
  if (!device_class || !device_class->starts_with(kPciDisplayClass)) return std::nullopt;
  Accelerator device;
  device.kind = AcceleratorKind::kIntelXpu;
  device.pci_address = address;
  for (const std::string& name : list_or_nothing(files, pci_path(address, "drm"))) {
    if (number_after(name, "renderD")) device.device_node = "/dev/dri/" + name;
  }
  device.accessible = !device.device_node.empty() && files.exists(device.device_node);
  device.tiles = count_tiles(files, address);
  // Graphics inside the CPU always sits here; add-in cards are behind a bridge, on another bus.
  device.integrated = address == "0000:00:02.0";
  read_locality(files, device);
  return device;
}

std::vector<Accelerator> discover_intel(const Files& files) {
  std::vector<Accelerator> devices;
  for (const char* driver : {"i915", "xe"}) {
    const std::string root = std::string("/sys/bus/pci/drivers/") + driver;
    for (const std::string& name : list_or_nothing(files, root)) {
      const auto address = normalize_pci_address(name);
      auto device = address ? read_intel(files, *address) : std::nullopt;
      if (device) devices.push_back(std::move(*device));
    }
  }
  return devices;
}

void append(std::vector<Accelerator>& all, std::vector<Accelerator> more, bool sort_by_address) {
  if (sort_by_address) {
    std::stable_sort(more.begin(), more.end(), [](const Accelerator& a, const Accelerator& b) {
      return a.pci_address < b.pci_address;
    });
  }
  if (more.size() > kMaxAccelerators) more.resize(kMaxAccelerators);
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

bool is_hex(std::string_view text, size_t min_digits, size_t max_digits) {
  return text.size() >= min_digits && text.size() <= max_digits &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

std::string_view to_string(AcceleratorKind kind) {
  switch (kind) {
    case AcceleratorKind::kNvidia:
      return "NVIDIA GPU";
    case AcceleratorKind::kAmd:
      return "AMD GPU";
    case AcceleratorKind::kIntelXpu:
      return "Intel XPU";
  }
  return "";
}

std::optional<std::string> normalize_pci_address(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3 || !is_hex(parts[0], 4, 8) || !is_hex(parts[1], 2, 2)) {
    return std::nullopt;
  }
  const std::vector<std::string_view> slot = split(parts[2], '.');
  if (slot.size() != 2 || !is_hex(slot[0], 2, 2) || !is_hex(slot[1], 1, 1)) return std::nullopt;
  std::string_view domain = parts[0];
  while (domain.size() > 4 && domain.front() == '0') domain.remove_prefix(1);
  return to_lower(fmt::format("{}:{}:{}", domain, parts[1], parts[2]));
}

std::optional<std::string> kfd_pci_address(int64_t domain, int64_t location_id) {
  if (domain < 0 || domain > 0xffffffff || location_id < 0) return std::nullopt;
  location_id &= 0xffff;  // the highest bits number the partitions of one device
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, location_id >> 8,
                     (location_id >> 3) & 0x1f, location_id & 7);
}

std::vector<Accelerator> discover_accelerators(const Files& files) {
  std::vector<Accelerator> all;
  append(all, discover_nvidia(files), true);
  append(all, discover_amd(files), false);
  append(all, discover_intel(files), true);
  return all;
}

}  // namespace muster::nccl
