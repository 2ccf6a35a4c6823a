#include "launcher/frameworks/worker_device.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "nccl/machine/visible_devices.h"

namespace muster::launcher {

namespace {

using nccl::AcceleratorKind;

PlannedVariable shown(std::string_view name, std::string value, int local_rank,
                      std::string_view source) {
  return {.name = std::string(name),
          .value = std::move(value),
          .reason = fmt::format("device of local rank {}", local_rank),
          .source = std::string(source),
          .claim = Claim::kOverrides};
}

// Vendors read their lists differently (nccl/machine/visible_devices.h): what is behind an element
// that hides the rest counts for none of them.
std::vector<std::string> elements_of(std::string_view name, std::string_view list) {
  std::vector<std::string> elements;
  const bool is_mask = name == "ZE_AFFINITY_MASK";
  const size_t usable =
      is_mask ? nccl::kMaxVisibleEntries : nccl::parse_visible_devices(list).size();
  for (const std::string_view element : split(list, ',')) {
    if (elements.size() == usable || trim(element).empty()) break;
    elements.emplace_back(trim(element));
  }
  return elements;
}

// The list that narrows what this pod sees most, i.e. inside which no other one counts.
std::optional<std::string_view> list_of(AcceleratorKind kind, const Environment& pod) {
  const auto first_of = [&pod](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (pod.has(name)) return std::optional(name);
    }
    return std::optional<std::string_view>();
  };
  switch (kind) {
    case AcceleratorKind::kNvidia:
      return first_of({"CUDA_VISIBLE_DEVICES"});
    case AcceleratorKind::kAmd:
      return first_of({"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"});
    case AcceleratorKind::kIntelXpu:
      return first_of({"ZE_AFFINITY_MASK"});
  }
  return std::nullopt;
}

std::string_view variable_of(AcceleratorKind kind) {
  switch (kind) {
    case AcceleratorKind::kNvidia:
      return "CUDA_VISIBLE_DEVICES";
    case AcceleratorKind::kAmd:
      return "HIP_VISIBLE_DEVICES";
    case AcceleratorKind::kIntelXpu:
      return "ZE_AFFINITY_MASK";
  }
  return "";
}

}  // namespace

std::optional<PlannedVariable> one_device(const std::vector<nccl::Accelerator>& all,
                                          const Environment& pod, int local_rank, int workers) {
  const auto number = static_cast<size_t>(local_rank);
  const auto wanted = static_cast<size_t>(workers);
  for (const auto kind :
       {AcceleratorKind::kNvidia, AcceleratorKind::kAmd, AcceleratorKind::kIntelXpu}) {
    const bool has_any = std::any_of(all.begin(), all.end(), [kind](const auto& device) {
      return device.kind == kind && device.accessible && !device.integrated;
    });
    if (!has_any) continue;
    if (const auto name = list_of(kind, pod)) {
      const auto elements = elements_of(*name, pod.get(*name).value_or(""));
      if (elements.size() < wanted) return std::nullopt;
      return shown(*name, elements[number], local_rank, *name);
    }
    const size_t devices = nccl::visible_devices(all, kind, pod).devices.size();
    if (devices < wanted) return std::nullopt;
    return shown(variable_of(kind), std::to_string(local_rank), local_rank, "the devices here");
  }
  return std::nullopt;
}

}  // namespace muster::launcher
