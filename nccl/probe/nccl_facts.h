// What the image's NCCL (or RCCL) says of itself: its version, and where its bootstrap would
// listen. Declared by hand: functions that have had this form since 2.4.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/environment.h"

namespace muster::probe {

/// Names the file to load instead of what the dynamic linker finds, as
/// ".../site-packages/nvidia/nccl/lib/libnccl.so.2": only Python knows which of its folders a job
/// will use.
inline constexpr const char* kNcclVariable = "MUSTER_PROBE_NCCL";

/// "2.28.9" of 22809, "2.8.3" of 2803: the form of the number changed with 2.9. Pure.
[[nodiscard]] std::string nccl_version(int code);

/// {"nccl": {"path", "version", "bootstrap": {"interface", "address"}}}. NCCL chooses the interface
/// by its own rules from this process's environment and its configuration files. "interface" is
/// null if none has that address; {"bootstrap": {"problem"}} if NCCL finds none. {"nccl":
/// {"absent": why}} without a library.
nlohmann::json nccl_facts(const Environment& environment);

/// An all-reduce over the GPUs of this container is not built yet. {"cuda": {"absent": why}}
/// without CUDA's driver, else {"cuda": {"path", "version", "devices"}, "allreduce": {"skipped":
/// why}}.
nlohmann::json all_reduce_facts();

}  // namespace muster::probe
