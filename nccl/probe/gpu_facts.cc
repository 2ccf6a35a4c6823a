#include "nccl/probe/gpu_facts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "nccl/probe/deadline.h"
#include "nccl/probe/shared_library.h"

namespace muster::probe {
namespace {

using nlohmann::json;

// From nvml.h, the documentation of driver 570.
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kUncorrected = 1;  // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr int kVolatile = 0;     // NVML_VOLATILE_ECC: since the driver was loaded
constexpr size_t kTextBytes = 96;
constexpr unsigned kMaxGpus = 64;  // a node has 16 at most; more is a broken library
constexpr unsigned kFabricCompleted = 3;

using Device = void*;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

// nvmlGpuFabricInfo_v2_t.
struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
static_assert(sizeof(FabricInfo) == 36);
constexpr unsigned kFabricInfoVersion = sizeof(FabricInfo) | 2U << 24;
constexpr unsigned kBandwidthBits = 3;  // of `health`: 1 = degraded

class Nvml {
 public:
  explicit Nvml(const SharedLibrary& library) : library_(library) {}

  /// Calls the function if there is one; its result code. None: there is not.
  template <typename... Arguments>
  [[nodiscard]] std::optional<int> call(const char* name, Arguments... arguments) const {
    int (*function)(Arguments...) = nullptr;
    if (!library_.find(name, function)) return {};
    return function(arguments...);
  }

  /// Of a function that fills in a text.
  template <typename... Arguments>
  [[nodiscard]] json text(const char* name, Arguments... arguments) const {
    std::array<char, kTextBytes> text{};
    if (call(name, arguments..., text.data(), static_cast<unsigned>(text.size() - 1)) != kSuccess)
      return nullptr;
    return one_line(text.data());
  }

  [[nodiscard]] std::string words(int code) const {
    const char* (*describe)(int) = nullptr;
    const bool is_there = library_.find("nvmlErrorString", describe);
    return "code " + std::to_string(code) + (is_there ? " (" + one_line(describe(code)) + ")" : "");
  }

 private:
  const SharedLibrary& library_;
};

// Domain, bus, device: the form of sysfs. NVML's own text has eight digits of the domain.
json pci_of(const Nvml& nvml, Device device) {
  PciInfo info{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &info) != kSuccess) return nullptr;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", info.domain, info.bus,
                      info.device);
  return text.data();
}

json errors_of(const Nvml& nvml, Device device) {
  unsigned long long count = 0;
  if (nvml.call("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &count) != kSuccess)
    return nullptr;
  return count;
}

json rows_of(const Nvml& nvml, Device device) {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (nvml.call("nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed) !=
      kSuccess)
    return nullptr;
  return {{"corrected", corrected},
          {"uncorrected", uncorrected},
          {"pending", pending != 0},
          {"failed", failed != 0}};
}

json slowdowns_of(const Nvml& nvml, Device device) {
  unsigned long long reasons = 0;
  // Its name until driver 535.
  if (nvml.call("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons) != kSuccess &&
      nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons) != kSuccess)
    return nullptr;
  return slowdown_names(reasons);
}

json mig_of(const Nvml& nvml, Device device) {
  unsigned current = 0;
  unsigned pending = 0;
  if (nvml.call("nvmlDeviceGetMigMode", device, &current, &pending) != kSuccess) return nullptr;
  return current != 0;
}

// The status says something only when the GPU has joined, or failed to.
json fabric_of(const Nvml& nvml, Device device) {
  FabricInfo info{};
  info.version = kFabricInfoVersion;
  if (nvml.call("nvmlDeviceGetGpuFabricInfoV", device, &info) != kSuccess) return nullptr;
  json fabric = {{"state", fabric_state_name(info.state)}};
  if (info.state != kFabricCompleted) return fabric;
  fabric["status"] = info.status;
  fabric["clique"] = info.clique;
  fabric["bandwidth_degraded"] = (info.health & kBandwidthBits) == 1;
  return fabric;
}

// With room for none it answers how many there are.
json processes_of(const Nvml& nvml, Device device) {
  unsigned count = 0;
  void* nowhere = nullptr;
  const auto code = nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, nowhere);
  if (code != kSuccess && code != kInsufficientSize) return nullptr;
  return count;
}

json gpu(const Nvml& nvml, unsigned index) {
  json facts = {{"index", index}};
  Device device = nullptr;
  const auto code = nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device);
  if (code != kSuccess) {
    facts["problem"] = code ? nvml.words(*code) : "no nvmlDeviceGetHandleByIndex_v2";
    return facts;
  }
  facts["name"] = nvml.text("nvmlDeviceGetName", device);
  facts["pci"] = pci_of(nvml, device);
  facts["ecc_uncorrected"] = errors_of(nvml, device);
  facts["remapped_rows"] = rows_of(nvml, device);
  facts["slowdowns"] = slowdowns_of(nvml, device);
  facts["mig"] = mig_of(nvml, device);
  facts["fabric"] = fabric_of(nvml, device);
  facts["processes"] = processes_of(nvml, device);
  return facts;
}

json cuda_of(const Nvml& nvml) {
  int version = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &version) != kSuccess) return nullptr;
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::vector<std::string> slowdown_names(uint64_t reasons) {
  constexpr std::array kNames{
      std::pair(0x4U, "sw_power_cap"),    std::pair(0x8U, "hw_slowdown"),
      std::pair(0x20U, "sw_thermal"),     std::pair(0x40U, "hw_thermal"),
      std::pair(0x80U, "hw_power_brake"),
  };
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames)
    if ((reasons & bit) != 0) names.emplace_back(name);
  return names;
}

std::string fabric_state_name(unsigned state) {
  constexpr std::array kNames{"not_supported", "not_started", "in_progress", "completed"};
  return state < kNames.size() ? kNames[state] : "state_" + std::to_string(state);
}

json gpu_facts() {
  note_step("loading NVML");
  const auto library = SharedLibrary::load(std::array<std::string, 1>{"libnvidia-ml.so.1"});
  if (!library) return {{"nvml", {{"absent", library.error().text}}}};
  const Nvml nvml(*library);
  json facts = {{"path", library->path()}};
  note_step("NVML, which talks to the driver");
  if (const auto code = nvml.call("nvmlInit_v2"); code != kSuccess) {
    facts["problem"] = code ? "nvmlInit_v2: " + nvml.words(*code) : "no nvmlInit_v2";
    return {{"nvml", facts}};
  }
  facts["driver"] = nvml.text("nvmlSystemGetDriverVersion");
  facts["cuda"] = cuda_of(nvml);
  unsigned count = 0;
  if (nvml.call("nvmlDeviceGetCount_v2", &count) != kSuccess) count = 0;
  facts["gpus"] = json::array();
  for (unsigned index = 0; index < std::min(count, kMaxGpus); ++index)
    facts["gpus"].push_back(gpu(nvml, index));
  return {{"nvml", facts}};
}

}  // namespace muster::probe
