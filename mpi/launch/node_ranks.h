// Where the ranks of one node stand in a job whose ranks no mpirun starts, and what their ends may
// mean. Shared by the servers of PMI (pmi_server.h) and PMIx (pmix_session.h).
#pragma once

#include <string>

namespace muster::mpi {

/// Ranks count up from node to node.
struct NodeRanks {
  /// What this node would call their key-value space: as no other attempt of any job is called,
  /// without spaces. PMIx adds a secret of its own (secret_space_name()). All take the name of the
  /// first node that has ranks, which they learn together with the numbers of ranks.
  std::string space;
  int first_rank = 0;
  int local_size = 1;
  int world_size = 1;
  int nodes = 1;
  int node = 0;                 ///< index of this node
  std::string node_name = {};   ///< as the others know it
  bool shares_machine = false;  ///< other nodes are on it too
};

/// Of a rank that ended as no MPI program may, or that can never get what it waits for: the exit
/// code to report, 1..255, and why, for people.
struct RankVerdict {
  int exit_code = 1;
  std::string reason;
  bool infrastructure = false;  ///< the program is not to blame
};

}  // namespace muster::mpi
