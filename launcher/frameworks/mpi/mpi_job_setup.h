// What an MpiJob (mpi_job.h) is given: by NodeAgent, which carries out what it asks for.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "elastic/failure.h"
#include "launcher/workers/agent_context.h"
#include "mpi/rsh/rsh_server.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/round_report.h"

namespace muster::launcher {

/// For a launcher to end by itself after a failure: told to meanwhile, Open MPI 4.1 crashes. It
/// gives its ranks a second between SIGTERM and SIGKILL (odls_base_sigkill_timeout).
inline constexpr Duration kLauncherOwnEnd = std::chrono::seconds(2);

/// Borrowed for the life of the job, but for the functions and `own_host`.
struct MpiJobSetup {
  AgentDoors doors;
  const AgentContext& context;
  mpi::RshServer& rsh;
  const rendezvous::JobOptions& job;
  std::string own_host;  ///< numeric, under which the others reach this agent
  bool secured = false;  ///< there is a job secret
  /// Something of this round failed here, once per round: the round must end. From the loop.
  std::function<void(const elastic::FailureRecord&)> failed;
  /// kLauncherOwnEnd later, unless the round has ended.
  std::function<void()> end_launcher;
  /// The launcher's process, while there is one.
  std::function<std::optional<pid_t>()> launcher_pid;
  /// All ranks ended well and the launcher hangs: it must be killed. From the loop.
  std::function<void()> launcher_hangs;
  /// Whom the leader here has, but who is told to go; empty = it is not here.
  std::function<std::vector<rendezvous::RosterEntry>()> nodes;
  /// So many hosts the controller wants. From the loop.
  std::function<void(int hosts)> hosts_changed;
  /// MpiJob::is_preparing() is over: the node may join others, or an error says why it cannot. From
  /// the loop.
  std::function<void(const Status&)> prepared = {};
};

}  // namespace muster::launcher
