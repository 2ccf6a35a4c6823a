// What a pod and a host file say without being asked: values that nobody gave, and warnings of jobs
// that would be smaller than they were meant to be.
#pragma once

#include <string>

#include "launcher/contracts/contract.h"
#include "launcher/options/flags.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// `--hosts @FILE` with slots=N for this node stands for --nproc-per-node, if nobody gives that. A
/// node that is not found in it has as many as each listed one; where those differ a warning names
/// both. Errors of the file are told when the job reads it.
[[nodiscard]] RawFlags with_host_slots(RawFlags raw, const PodFacts& pod);

}  // namespace muster::launcher
