#include "nccl/machine/visible_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr const char* kCudaVisible = "CUDA_VISIBLE_DEVICES";
constexpr const char* kHipVisible = "HIP_VISIBLE_DEVICES";
constexpr const char* kRocrVisible = "ROCR_VISIBLE_DEVICES";
constexpr const char* kXpuMask = "ZE_AFFINITY_MASK";
constexpr size_t kMaxQuotedBytes = 200;  // of a variable's value in a reason

// "2 of 8 NVIDIA GPUs by CUDA_VISIBLE_DEVICES=2,3".
std::string filtered_reason(size_t kept, const std::string& before, const char* variable,
                            std::string_view value) {
  return fmt::format("{} of {} by {}={}", kept, before, variable,
                     clip_utf8(value, kMaxQuotedBytes));
}

std::optional<VisibleEntry> parse_entry(std::string_view element) {
  if (element.starts_with("GPU-") || element.starts_with("MIG-")) {
    return VisibleEntry{std::nullopt, std::string(element)};
  }
  const size_t digits = std::min(element.find_first_not_of("0123456789"), element.size());
  const std::optional<int> index = number_after(element.substr(0, digits), "");
  if (!index) return std::nullopt;
  return VisibleEntry{index, ""};
}

// The device that an id names: the only one whose uuid starts with it. Where the driver does not
// tell the uuids, the id is believed and stands for a device nothing else is known of.
std::optional<Accelerator> find_by_id(const std::vector<Accelerator>& devices,
                                      const std::string& id) {
  std::vector<const Accelerator*> matches;
  bool all_known = true;
  for (const Accelerator& device : devices) {
    if (!device.uuid.empty() && device.uuid.starts_with(id)) matches.push_back(&device);
    all_known = all_known && !device.uuid.empty();
  }
  if (matches.size() == 1) return *matches.front();
  if (all_known || !matches.empty() || devices.empty()) return std::nullopt;
  Accelerator believed;
  believed.kind = devices.front().kind;
  believed.uuid = id;
  believed.accessible = true;
  return believed;
}

// Applies one variable; without it, or without devices, everything stays.
VisibleDevices apply_list(VisibleDevices from, const Environment& environment,
                          const char* variable) {
  const auto text = environment.get(variable);
  if (!text || from.devices.empty()) return from;
  VisibleDevices kept;
  for (const VisibleEntry& entry : parse_visible_devices(*text)) {
    std::optional<Accelerator> device;
    if (!entry.index) {
      device = find_by_id(from.devices, entry.id);
    } else if (static_cast<size_t>(*entry.index) < from.devices.size()) {
      device = from.devices[static_cast<size_t>(*entry.index)];
    }
    if (!device) break;
    kept.devices.push_back(std::move(*device));
  }
  kept.reason = filtered_reason(kept.devices.size(), from.reason, variable, *text);
  return kept;
}

// One instance of the first GPU that has any; which one it is, only NVML could tell.
VisibleDevices one_mig_instance(const std::vector<Accelerator>& devices) {
  int instances = 0;
  VisibleDevices visible;
  for (const Accelerator& device : devices) {
    if (device.mig_instances == 0) continue;  // in MIG mode, but no instance of it is ours
    instances += device.mig_instances.value_or(1);
    if (visible.devices.empty()) visible.devices.push_back(device);
  }
  visible.reason = fmt::format("{} of {} MIG instances, because CUDA shows a process only one",
                               visible.devices.size(), instances);
  return visible;
}

VisibleDevices visible_nvidia(VisibleDevices given, const Environment& environment) {
  const auto is_mig = [](const Accelerator& device) { return device.mig_instances.has_value(); };
  const std::string_view list = trim(environment.get(kCudaVisible).value_or(""));
  if (list.starts_with("MIG-")) return one_mig_instance(given.devices);
  const auto migs = std::count_if(given.devices.begin(), given.devices.end(), is_mig);
  const bool mixed = migs > 0 && static_cast<size_t>(migs) < given.devices.size();
  if (mixed && !environment.has(kCudaVisible)) {
    std::erase_if(given.devices, is_mig);
    given.reason =
        fmt::format("{} of {}, the others are in MIG mode", given.devices.size(), given.reason);
    return given;
  }
  VisibleDevices listed = apply_list(std::move(given), environment, kCudaVisible);
  const bool only_migs =
      !listed.devices.empty() && std::all_of(listed.devices.begin(), listed.devices.end(), is_mig);
  return only_migs ? one_mig_instance(listed.devices) : listed;
}

// Level Zero's mask is a set: it never changes the order. "1" or "1.0"; what is malformed or out
// of range is ignored, as the loader ignores it.
std::set<int> mask_numbers(std::string_view mask) {
  std::set<int> numbers;
  for (const std::string_view element : split(mask, ',')) {
    if (numbers.size() == kMaxVisibleEntries) break;
    const std::string_view card = trim(element.substr(0, element.find('.')));
    if (const auto number = number_after(card, ""); number) numbers.insert(*number);
  }
  return numbers;
}

VisibleDevices visible_xpu(const VisibleDevices& given, const Environment& environment) {
  const std::string hierarchy = to_upper(environment.get("ZE_FLAT_DEVICE_HIERARCHY").value_or(""));
  const bool flat = hierarchy != "COMPOSITE";  // COMBINED also counts tiles
  VisibleDevices counted;
  for (const Accelerator& card : given.devices) {
    counted.devices.insert(counted.devices.end(), static_cast<size_t>(flat ? card.tiles : 1), card);
  }
  counted.reason = given.reason;
  if (counted.devices.size() != given.devices.size()) {
    counted.reason = fmt::format("{} tiles of {}", counted.devices.size(), given.reason);
  }
  const auto mask = environment.get(kXpuMask);
  if (!mask || mask->empty()) return counted;
  VisibleDevices kept;
  for (const int number : mask_numbers(*mask)) {
    if (static_cast<size_t>(number) >= counted.devices.size()) continue;
    kept.devices.push_back(counted.devices[static_cast<size_t>(number)]);
  }
  kept.reason = filtered_reason(kept.devices.size(), counted.reason, kXpuMask, *mask);
  return kept;
}

VisibleDevices accessible_of_kind(const std::vector<Accelerator>& all, AcceleratorKind kind) {
  VisibleDevices given;
  size_t on_host = 0;
  for (const Accelerator& device : all) {
    if (device.kind != kind) continue;
    ++on_host;
    if (device.accessible) given.devices.push_back(device);
  }
  const size_t count = given.devices.size();
  given.reason = fmt::format("{} {}{}", count, to_string(kind), count == 1 ? "" : "s");
  if (count != on_host) {
    given.reason +=
        fmt::format(" ({} on the host, {} without a device node here)", on_host, on_host - count);
  }
  return given;
}

}  // namespace

std::vector<VisibleEntry> parse_visible_devices(std::string_view text) {
  std::vector<VisibleEntry> entries;
  for (const std::string_view element : split(text, ',')) {
    std::optional<VisibleEntry> entry = parse_entry(trim(element));
    if (!entry || entries.size() == kMaxVisibleEntries) break;
    if (!entries.empty() && entries.front().index.has_value() != entry->index.has_value()) break;
    if (std::find(entries.begin(), entries.end(), *entry) != entries.end()) return {};
    entries.push_back(std::move(*entry));
  }
  return entries;
}

VisibleDevices visible_devices(const std::vector<Accelerator>& all, AcceleratorKind kind,
                               const Environment& environment) {
  VisibleDevices given = accessible_of_kind(all, kind);
  switch (kind) {
    case AcceleratorKind::kNvidia:
      return visible_nvidia(std::move(given), environment);
    case AcceleratorKind::kAmd: {
      given = apply_list(std::move(given), environment, kRocrVisible);
      const bool has_hip = environment.has(kHipVisible);
      return apply_list(std::move(given), environment, has_hip ? kHipVisible : kCudaVisible);
    }
    case AcceleratorKind::kIntelXpu:
      return visible_xpu(given, environment);
  }
  return given;
}

}  // namespace muster::nccl
