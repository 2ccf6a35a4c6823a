// The status of a job as a table for people, or as a list of hosts for scripts. Pure; the JSON is
// described in status_answer.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mpi/launch/hostfile.h"

namespace muster::launcher {

/// Lines for a terminal, each with '\n': what the job does, why, and one line per node in the order
/// of their ranks, those without one last. An agent that does not lead has no nodes to show. The
/// text comes from another program: what is missing or of another type is left out, and what a
/// terminal would obey is replaced. kProtocol, kLimit: no JSON object.
Result<std::string> status_table(std::string_view status);

/// The restart timeline of such a status: one line for each of the last interruptions, the oldest
/// first, with the seconds of its phases ("-" = it had none). kPeer: not of the leader, who alone
/// knows. Else as status_table().
Result<std::string> history_table(std::string_view status);

/// The nodes with workers that are there now, spares too, by node rank: "worker-0:2", one per line,
/// as scripts for elastic Horovod print hosts. `listed`: slots that count more than what a node
/// says; in full or cut at the first dot. kProtocol, kLimit: no JSON object, or not all nodes in
/// it. kPeer: not of the leader. kConfig: a node whose name is no host's (two agents of one
/// machine).
Result<std::string> status_hosts(std::string_view status,
                                 const std::vector<mpi::HostSlots>& listed);

}  // namespace muster::launcher
