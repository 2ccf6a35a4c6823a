// How many file descriptors an agent needs, against RLIMIT_NOFILE: told before workers start, not
// by the call that happens to fail first. Pure but for the log.
#pragma once

#include "base/result.h"

namespace muster {

/// Both ends of two pipes while it is being started; then their read ends and a pidfd.
inline constexpr unsigned long kDescriptorsPerWorker = 4;
/// PyTorch 1.13 opens a second one for each store that it never uses.
inline constexpr unsigned long kConnectionsPerRank = 2;
/// Log, loop, signals, listener, guardian, links to other agents.
inline constexpr unsigned long kOwnDescriptors = 32;

/// kConfig: `limit` (soft RLIMIT_NOFILE, raised as far as possible) is too low to start so many
/// workers.
Status check_descriptor_limit(unsigned long limit, int local_workers);

/// Warns when it is too low for the store of a job of `world_size` ranks, which this node serves:
/// the last ranks would wait for ever.
void warn_of_few_descriptors(unsigned long limit, int local_workers, int world_size);

}  // namespace muster
