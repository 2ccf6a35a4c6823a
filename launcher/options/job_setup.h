// JobSetup: what the command line says to the rendezvous of a job of many nodes: options that all
// nodes share, the restart and scaling policy. Pure. Where the nodes are: candidate_list.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "elastic/round_policy.h"
#include "launcher/options/options.h"
#include "rendezvous/messages/job_options.h"

namespace muster::launcher {

/// By --nnodes, or as a spare, which the static backend does not know.
[[nodiscard]] bool may_have_others(const Options& options);
/// One job of many nodes, as opposed to one that runs on this node alone.
[[nodiscard]] bool has_many_nodes(const Options& options);
/// Whether it takes a NodeAgent: with many nodes, or because it alone brings mpirun to its ranks.
[[nodiscard]] bool needs_node_agent(const Options& options);

/// Errors: kUsage, rendezvous::check() and apply_rdzv_conf().
Result<rendezvous::JobOptions> job_options(const Options& options, bool secured);

/// How many nodes a list of `hosts` with ranks asks for: the nearest allowed size that is not more,
/// or else the smallest. None: --nnodes is one number.
[[nodiscard]] std::optional<int> wanted_nodes(const rendezvous::JobOptions& job, int hosts);

[[nodiscard]] elastic::RoundPolicyOptions round_policy_options(const Options& options);

/// Of an agent's token, which is 128 random bits in hex: its first half is as good a number as any.
[[nodiscard]] uint64_t random_number(const std::string& token);

}  // namespace muster::launcher
