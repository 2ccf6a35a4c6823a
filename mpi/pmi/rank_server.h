// RankServer: the agent of a node answers what ranks ask of their mpirun. There are two:
// pmi_ranks.h for MPICH and its descendants, in every build, and pmix_ranks.h for Open MPI, which
// may be left out (CMake option MUSTER_PMIX). frameworks/mpi/rank_driver.h makes the one that the
// job wants.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment_plan.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"
#include "mpi/launch/node_ranks.h"

namespace muster::mpi {

/// A rank that called MPI_Abort may end by itself within this time. Ranks of MPICH wait to be
/// killed, and so do ranks that wait in vain.
inline constexpr Duration kRankEndGrace = std::chrono::milliseconds(100);

/// Called from the loop and from exchanged() and exited().
struct RankServerHooks {
  /// To the other nodes; the answer is exchanged(). Never called with one node.
  std::function<void(uint64_t sequence, std::string bytes)> exchange;
  /// SIGKILL to that rank process.
  std::function<void(int local_rank)> kill;
};

/// What was made for one rank.
struct AttachedRank {
  std::vector<PlannedVariable> variables;
  std::vector<UniqueFd> inherited;  ///< open until the rank was started
};

class RankServer {
 public:
  virtual ~RankServer() = default;
  /// A new attempt: nothing of the old one is left. Errors: what it needs is not there.
  virtual Status begin(NodeRanks place) = 0;
  /// Adds to `request` what the rank needs besides variables, and its stdin (set_rank_stdin). kOs.
  virtual Result<AttachedRank> attach(int local_rank, SpawnRequest& request) = 0;
  /// What all nodes gave, by node rank, or why there is no answer.
  virtual void exchanged(uint64_t sequence,
                         const Result<std::vector<std::string>>& contributions) = 0;
  /// When the rank told its end, as by MPI_Abort, which its process may outlive. Before exited().
  [[nodiscard]] virtual std::optional<TimePoint> told_end(int local_rank) const = 0;
  /// The rank's process has ended; `success`: with 0, by itself. What its end means, if not what
  /// its status says.
  [[nodiscard]] virtual std::optional<RankVerdict> exited(int local_rank, bool success) = 0;
};

/// As an mpirun does: rank 0 of the job has this agent's stdin, the others read nothing. For them
/// the result is what they read, open until the rank was started; of rank 0 it is closed. kOs.
Result<UniqueFd> set_rank_stdin(const NodeRanks& place, int local_rank, SpawnRequest& request);

/// A name that no other attempt has, nor one of another job with that run id: libraries name shared
/// memory after it, and what killed ranks left of it may still be there. "muster_JOB_2_TOKEN", with
/// the beginning of `token`, which is the agent's; what the name of a key-value space may not hold
/// of the run id becomes '_'.
[[nodiscard]] std::string rank_space_name(const std::string& run_id, int attempt,
                                          const std::string& token);
/// The same where the name is all that keeps others out: "muster_JOB_2_SECRET", without the token,
/// which stands in `ps`. `secret`: of unguessable_digits().
[[nodiscard]] std::string secret_space_name(const std::string& name, const std::string& secret);

}  // namespace muster::mpi
