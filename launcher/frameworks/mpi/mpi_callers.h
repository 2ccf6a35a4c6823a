// MpiCallers: with --rsh, what the workers of a node get so that an mpirun in one of their scripts
// reaches the other nodes, of whichever MPI it is. Not for --framework mpi, whose launcher is the
// agent's own (mpi_job.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/own_binary.h"
#include "base/process/temporary_folder.h"
#include "base/result.h"
#include "launcher/frameworks/driver_host.h"
#include "mpi/rsh/rsh_server.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// What follows for the log, where it cannot be done. `muster rsh` itself needs none of it.
inline constexpr std::string_view kNoMpiCallers =
    "an mpirun of a worker's needs its variables set by hand to use muster rsh";

class MpiCallers {
 public:
  /// `host` is borrowed for this call, what it refers to and `rsh` for longer. A folder is made
  /// where the link muster-rsh is not beside the binary, and where nodes share a machine. kOs,
  /// kConfig: the link's path is nothing for MPI launchers.
  static Result<MpiCallers> create(const DriverHost& host, mpi::RshServer& rsh);

  /// What other nodes run here from now on has what this node's network needs in this attempt.
  void begin_attempt();

  /// What the workers of this round get: mpi::caller_settings(). What the user has set stays, and
  /// is told to the log.
  [[nodiscard]] std::vector<PlannedVariable> begin_round(const rendezvous::Assign& assign) const;

 private:
  MpiCallers(const DriverHost& host, mpi::RshServer& rsh)
      : files_(&host.doors.files), context_(&host.context), network_(host.network), rsh_(&rsh) {}
  Status prepare(const std::string& own_host);
  void add_folders();

  const Files* files_;
  const AgentContext* context_;
  std::function<std::vector<PlannedVariable>()> network_;  // DriverHost::network
  mpi::RshServer* rsh_;
  std::optional<TemporaryFolder> folder_;
  OwnLink rsh_link_;
  std::vector<PlannedVariable> own_variables_;  // of what other nodes run here
};

}  // namespace muster::launcher
