// An all-reduce over all GPUs of this container, from one process: does NCCL work here, is its sum
// right, how fast is it. Over CUDA's driver, because the runtime library is missing in many images.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/environment.h"

namespace muster::probe {

/// The rate of the wires of an all-reduce among `ranks` that takes `seconds` for `bytes` on each:
/// what each has to send does not depend much on how many there are (nccl-tests,
/// doc/PERFORMANCE.md). 0 for one rank. Pure.
[[nodiscard]] double bus_rate(int ranks, double bytes, double seconds);

/// {"cuda": {"path", "version", "devices"}, "nccl": {"path"}, "allreduce": {"ranks", "is_correct",
/// "latency_us", "bytes", "bytes_per_s", "bus_bytes_per_s"}}. {"cuda": {"absent"}} without CUDA's
/// driver, {"nccl": {"absent"}} without NCCL, {"allreduce": {"problem"}} if a call fails.
/// unverified: run with libraries that were made up for the tests, on no GPU yet.
nlohmann::json all_reduce_facts(const Environment& environment);

}  // namespace muster::probe
