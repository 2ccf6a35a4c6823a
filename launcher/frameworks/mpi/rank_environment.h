// What ranks that a launcher starts find on every node, whichever MPI it is. Given to the launcher
// and to the daemons, whose children inherit it; what differs from rank to rank, `muster rank` adds
// (mpi/launch/launched_rank.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "launcher/options/options.h"
#include "mpi/launch/hostfile.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// What follows from this node alone: settings for a container in which ranks may not read each
/// other's memory. `unbound`: Muster's own words start the ranks, and bind none.
[[nodiscard]] std::vector<PlannedVariable> node_variables(bool unbound);

/// Where Muster's own words start several ranks on a host, and the user has not set it, each gets
/// OMP_NUM_THREADS=1: the line for the log.
void tell_threads(const std::vector<mpi::HostSlots>& hosts, const Environment& user);

/// What is planned for the network of a node, as far as it is for what a launcher starts there. Not
/// which network Open MPI takes: it is told that once for all nodes (mpi/launch/launch_settings.h),
/// and the name of an interface may mean another one on another node.
[[nodiscard]] std::vector<PlannedVariable> network_below_launcher(
    std::vector<PlannedVariable> planned);
/// Tells it to ranks on the launcher's node.
[[nodiscard]] PlannedVariable rank_network_variable(const std::vector<PlannedVariable>& planned);
/// Of it what a launcher reads itself, and hands on to its daemons and ranks: MCA parameters.
[[nodiscard]] std::vector<PlannedVariable> network_of_launcher(
    const std::vector<PlannedVariable>& planned);

/// What happens to what ranks print: `muster rank` does it. `scripted`: a script has called their
/// launcher and may read its output, so that lines get no prefix.
[[nodiscard]] PlannedVariable rank_streams_variable(const Options& options, bool scripted);

/// The name of this node and the folder of the attempt ("" = none), for ranks that are started by
/// a launcher here or, `by_daemon`, by its daemon.
[[nodiscard]] std::vector<PlannedVariable> rank_place_variables(const std::string& node,
                                                                const std::string& attempt_dir,
                                                                bool by_daemon);

/// Where PyTorch's env:// meets: MASTER_ADDR, the first node with ranks, and MASTER_PORT, for a
/// server of rank 0: nothing of ours listens there. `seed` is the same on all nodes of a round and
/// differs between rounds and jobs. The user's own stay. Empty: no node of the roster has ranks.
/// Pure.
[[nodiscard]] std::vector<PlannedVariable> master_variables(const rendezvous::Assign& round,
                                                            std::string_view seed);

}  // namespace muster::launcher
