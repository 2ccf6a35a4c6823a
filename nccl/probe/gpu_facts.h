// What NVIDIA's management library (NVML) says of the GPUs of this container. Declared by hand: few
// functions, whose form has not changed since driver 450, and each may be missing.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace muster::probe {

/// The names of the bits of nvmlDeviceGetCurrentClocksEventReasons, as in nvml.h, that slow a GPU
/// down: "sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake". Idling and
/// what somebody has asked for are not in it. Pure.
[[nodiscard]] std::vector<std::string> slowdown_names(uint64_t reasons);

/// The words of a state of the NVLink fabric: "not_supported", "not_started", "in_progress",
/// "completed". Pure.
[[nodiscard]] std::string fabric_state_name(unsigned state);

/// {"nvml": {"path", "driver", "cuda", "gpus": [{"index", "name", "pci", "ecc_uncorrected",
/// "remapped_rows": {"corrected", "uncorrected", "pending", "failed"}, "slowdowns": [...], "mig",
/// "fabric": {"state", "status", "clique", "bandwidth_degraded"}, "processes"}]}}. What the library
/// does not tell is null. {"nvml": {"absent": why}} without the library, {"nvml": {"path",
/// "problem"}} if it does not work, usually as there is no driver. Uuids are left out: they
/// identify a card.
nlohmann::json gpu_facts();

}  // namespace muster::probe
