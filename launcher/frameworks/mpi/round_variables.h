// What a round's launcher and the daemons on its nodes find in their environment, besides the
// settings of their MPI (mpi/launch/launch_settings.h).
#pragma once

#include <string>
#include <vector>

#include "launcher/frameworks/mpi/command_job.h"
#include "launcher/frameworks/mpi/launch_transport.h"
#include "launcher/frameworks/mpi/mpi_job_setup.h"

namespace muster::launcher {

/// Below `muster rank`, by words of ours, which bind none (launch_settings.h).
[[nodiscard]] bool starts_unbound(const LaunchTransport& transport, CommandKind kind);

/// Made anew wherever it is needed; borrows for as long.
struct RoundVariables {
  const MpiJobSetup& setup;
  const LaunchTransport& transport;
  CommandKind kind;
  const rendezvous::Assign& round;
  /// Words of `muster rank`, where a variable can put them before each rank; "" = nowhere.
  std::string rank_agent;
  /// For temporary files, if other nodes of the job run on this machine, too; "" = none do.
  std::string shared_folder;

  /// For MUSTER_RANK_REPORT.
  [[nodiscard]] std::string report() const;
  /// By which ranks come below `muster rank`.
  [[nodiscard]] std::vector<PlannedVariable> of_rank_agent() const;
  /// What is planned for the network of this node.
  [[nodiscard]] std::vector<PlannedVariable> of_network() const;
  [[nodiscard]] std::vector<PlannedVariable> of_launcher() const;
  [[nodiscard]] std::vector<PlannedVariable> of_daemons() const;

 private:
  [[nodiscard]] std::vector<PlannedVariable> of_both() const;
};

}  // namespace muster::launcher
