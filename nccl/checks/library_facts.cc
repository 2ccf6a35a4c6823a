#include "nccl/checks/library_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "nccl/machine/accelerators.h"

namespace muster::nccl {
namespace {

using nlohmann::json;

constexpr size_t kMaxGpus = 64;  // as muster-probe has it
constexpr size_t kMaxProviders = 1024;
constexpr size_t kMaxTextBytes = 512;

const json& member(const json& object, const char* name) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? one_line(clip_utf8(value.get_ref<const std::string&>(), kMaxTextBytes))
                           : "";
}

template <typename Number>
Number number_of(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_number_integer() ? value.get<Number>() : Number();
}

bool is_true(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> texts_of(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& one : list) {
    if (one.is_string())
      texts.push_back(one_line(clip_utf8(one.get<std::string>(), kMaxTextBytes)));
  }
  return texts;
}

GpuReport gpu_of(const json& facts) {
  GpuReport gpu;
  gpu.index = number_of<int>(facts, "index");
  gpu.pci = normalize_pci_address(text_of(facts, "pci")).value_or("");
  gpu.problem = text_of(facts, "problem");
  if (member(facts, "mig").is_boolean()) gpu.in_mig_mode = is_true(facts, "mig");
  gpu.uncorrected_errors = number_of<uint64_t>(facts, "ecc_uncorrected");
  const json& rows = member(facts, "remapped_rows");
  gpu.remap_pending = is_true(rows, "pending");
  gpu.remap_failed = is_true(rows, "failed");
  gpu.slowdowns = texts_of(member(facts, "slowdowns"));
  const json& fabric = member(facts, "fabric");
  gpu.fabric_state = text_of(fabric, "state");
  gpu.fabric_status = number_of<int>(fabric, "status");
  gpu.has_degraded_bandwidth = is_true(fabric, "bandwidth_degraded");
  gpu.processes = number_of<int>(facts, "processes");
  return gpu;
}

NvmlReport nvml_of(const json& facts) {
  NvmlReport nvml{.problem = text_of(facts, "problem"), .driver = text_of(facts, "driver")};
  const json& gpus = member(facts, "gpus");
  for (size_t i = 0; gpus.is_array() && i < std::min(gpus.size(), kMaxGpus); ++i)
    nvml.gpus.push_back(gpu_of(gpus[i]));
  return nvml;
}

LibfabricReport libfabric_of(const json& facts) {
  LibfabricReport libfabric{.path = text_of(facts, "path"), .version = text_of(facts, "version")};
  const json& devices = member(facts, "providers");
  for (size_t i = 0; devices.is_array() && i < std::min(devices.size(), kMaxProviders); ++i) {
    std::string provider = text_of(devices[i], "provider");
    if (std::ranges::find(libfabric.providers, provider) == libfabric.providers.end())
      libfabric.providers.push_back(std::move(provider));
  }
  return libfabric;
}

}  // namespace

std::optional<LibraryVersion> parse_version(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() < 2) return std::nullopt;
  LibraryVersion version{};
  for (size_t i = 0; i < std::min(parts.size(), version.size()); ++i) {
    constexpr int64_t kMost = 1'000'000;
    const auto number = parse_integer(parts[i]);
    if (!number || *number < 0 || *number > kMost) return std::nullopt;
    version[i] = static_cast<int>(*number);
  }
  return version;
}

std::string name_of(const GpuReport& gpu) {
  return fmt::format("GPU {}{}", gpu.index, gpu.pci.empty() ? "" : " (" + gpu.pci + ")");
}

void add_report(std::string_view text, LibraryFacts& facts) {
  const auto report = parse_json(text);
  if (!report) return;
  const auto is_there = [](const json& library) {
    return library.is_object() && !library.contains("absent");
  };
  if (const json& nvml = member(*report, "nvml"); is_there(nvml)) facts.nvml = nvml_of(nvml);
  if (const json& nccl = member(*report, "nccl"); is_there(nccl))
    facts.nccl = {text_of(nccl, "path"), text_of(nccl, "version")};
  // One that could not list its providers has said nothing of them.
  const json& libfabric = member(*report, "libfabric");
  if (is_there(libfabric) && !libfabric.contains("problem"))
    facts.libfabric = libfabric_of(libfabric);
}

}  // namespace muster::nccl
