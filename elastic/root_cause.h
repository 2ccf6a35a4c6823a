// Root cause: which failure of the whole job came first. Pure; the nodes' records come with their
// age, so that clocks that differ by an hour do not matter.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "elastic/failure.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::elastic {

/// The compact form that travels to the leader. `now` is the clock of `record.noticed`.
[[nodiscard]] rendezvous::Failure to_wire(const FailureRecord& record, TimePoint now,
                                          bool would_fail_again);

/// Back, for the reports of another node. `now` and `wall_now` are one moment, that of its arrival.
[[nodiscard]] FailureRecord from_wire(const rendezvous::Failure& failure, TimePoint now,
                                      WallTime wall_now);

/// Index of the failure that explains the others: the earliest by `happened`. Records that lie
/// within kSameMoment of it are one moment as far as a network can tell; among those the smallest
/// blame_of() goes first (last_words.h), then a cause of its own (out of memory, a crash, killed
/// from outside, not startable) before one that is presumed, and both before an exit code, which is
/// how workers end when a peer is gone; then the earlier, then the one reported first. `failures`
/// is never empty.
[[nodiscard]] size_t first_of_job(std::span<const rendezvous::Failure> failures);

}  // namespace muster::elastic
