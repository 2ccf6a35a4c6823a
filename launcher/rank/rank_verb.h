// The verb `muster rank -- PROGRAM`: what an MPI launcher starts in place of a rank, so that the
// job's agents learn how each rank ended. Reads what it must know from the environment.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process/init.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster::launcher {

/// The place of a rank in its world, from the variables of its launcher. None: it has none.
struct RankPlace {
  uint32_t rank = 0;
  uint32_t size = 1;
  int local_rank = 0;  ///< on its node
};
/// Open MPI's OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE of MPICH and Intel MPI,
/// HOROVOD_RANK and _SIZE; what belongs to them for the local rank.
[[nodiscard]] std::optional<RankPlace> rank_place(const Environment& environment);

/// Which launcher has started a rank, told apart by a number that is not 0, and in which of its
/// worlds: 0 = its first, the others are those of MPI_Comm_spawn. By Open MPI's PMIX_NAMESPACE and
/// Intel MPI's variables. None: MPICH says nothing of that.
struct RankOrigin {
  uint32_t launcher = 0;
  uint32_t world = 0;
};
[[nodiscard]] std::optional<RankOrigin> rank_origin(const Environment& environment);

/// "ADDRESS:PORT AGENT ROUND RUN_ID" (launcher/frameworks/mpi/round_variables.h).
struct RankReport {
  Address address;     ///< of the launcher's agent
  uint64_t agent = 0;  ///< its incarnation
  uint32_t round = 0;
  std::string run_id;
};
Result<RankReport> parse_rank_report(std::string_view text);

/// `words` follow the verb: mpi::kRankLauncherFlag and its number where the launcher reports, too
/// (launcher/frameworks/mpi/rank_words.h), "--", the command. Returns the rank's exit code, 128 + N
/// when signal N ended it, 126 or 127 when it could not be started, 255 when its job was over
/// before, 78 for an environment that is none of a rank's.
int run_rank_verb(const std::vector<std::string>& words, const Environment& environment,
                  const ProcessSetup& setup, std::FILE* errors);

/// Below another `muster rank`, as in a script that Muster put one before: that one reports.
[[nodiscard]] bool is_reported_above(const Environment& environment);
/// The same verb there: becomes the program, with this process's signals as they are. Returns only
/// when that failed: 126 or 127, 64 for a wrong command line.
int run_inner_rank_verb(const std::vector<std::string>& words, const Environment& environment,
                        std::FILE* errors);

}  // namespace muster::launcher
