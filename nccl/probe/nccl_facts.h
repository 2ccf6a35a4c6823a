// What the image's NCCL (or RCCL) says of itself: its version, and where its bootstrap would
// listen.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/environment.h"

namespace muster::probe {

/// "2.28.9" of 22809, "2.8.3" of 2803: the form of the number changed with 2.9. Pure.
[[nodiscard]] std::string nccl_version(int code);

/// {"nccl": {"path", "version", "bootstrap": {"interface", "address"}}}. NCCL chooses the interface
/// by its own rules from this process's environment and its configuration files. "interface" is
/// null if none has that address; {"bootstrap": {"problem"}} if NCCL finds none. {"nccl":
/// {"absent": why}} without a library.
nlohmann::json nccl_facts(const Environment& environment);

}  // namespace muster::probe
