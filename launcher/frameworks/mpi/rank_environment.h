// What ranks that a launcher starts find on every node, whichever MPI it is. Given to the launcher
// and to the daemons, whose children inherit it; what differs from rank to rank, `muster rank` adds
// (mpi/launch/launched_rank.h).
#pragma once

#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "mpi/launch/hostfile.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// What follows from this node alone: settings for a container in which ranks may not read each
/// other's memory. `unbound`: Muster's own words start the ranks, and bind none.
[[nodiscard]] std::vector<PlannedVariable> node_variables(bool unbound);

/// Where Muster's own words start several ranks on a host, and the user has not set it, each gets
/// OMP_NUM_THREADS=1: the line for the log.
void tell_threads(const std::vector<mpi::HostSlots>& hosts, const Environment& user);

/// Where PyTorch's env:// meets: MASTER_ADDR, the first node with ranks, and MASTER_PORT, for a
/// server of rank 0: nothing of ours listens there. `seed` is the same on all nodes of a round and
/// differs between rounds and jobs. The user's own stay. Empty: no node of the roster has ranks.
/// Pure.
[[nodiscard]] std::vector<PlannedVariable> master_variables(const rendezvous::Assign& round,
                                                            std::string_view seed);

}  // namespace muster::launcher
