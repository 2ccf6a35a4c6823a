// Volcano Jobs with the plugins svc (lists of hosts, one per task) and perhaps ssh, env and mpi.
// Which task has the launcher is the user's choice of names. Facts: Volcano main of 2026-08-20,
// pkg/controllers/job/plugins.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// Tasks of a job, and bytes of the list of one: more than env variables could hold.
inline constexpr size_t kMaxVolcanoTasks = 64;
inline constexpr size_t kMaxVolcanoListBytes = 1U << 20;

/// None: no list of hosts, neither VC_<TASK>_HOSTS nor /etc/volcano/<task>.host.
/// A job of one task has no roles: every pod is a node with ranks. Of several tasks one has the
/// launcher: that whose pod has MPI_HOST (plugin mpi), else that with "master" or "launcher" in its
/// name and one host.
[[nodiscard]] std::optional<Contract> read_volcano(const PodFacts& pod);

}  // namespace muster::launcher
