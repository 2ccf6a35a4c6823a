// DriverHost: what an agent does for the driver of its framework (driver.h). Filled by agent.cc and
// node_agent_start.cc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment_plan.h"
#include "base/result.h"
#include "base/tls.h"
#include "elastic/failure.h"
#include "launcher/frameworks/agent_context.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/round_report.h"
#include "rendezvous/port/job_port.h"

namespace muster::launcher {

/// The functions may be called from the loop only.
struct DriverHost {
  AgentDoors doors;
  const AgentContext& context;
  const rendezvous::JobOptions& job;
  std::string own_host;             ///< numeric, under which other nodes reach this agent
  const TlsContext* tls = nullptr;  ///< null = the job has no secret
  /// Connections to the job port that begin in this protocol.
  std::function<void(rendezvous::Protocol, rendezvous::JobPort::Handler)> serve;
  /// The same for what workers dial, who prove nothing: from nodes of the round alone, and bounded
  /// together with the clients of the job store. `clients`: how many the driver has.
  std::function<void(rendezvous::Protocol, rendezvous::JobPort::Handler,
                     std::function<size_t()> clients)>
      serve_workers = {};
  /// is_preparing() is over. An error says why this node cannot take part.
  std::function<void(const Status&)> prepared;
  /// Something that is no worker of this node failed, once per round: the round ends. The workers
  /// here are told nothing: end_workers() is the driver's to call.
  std::function<void(const elastic::FailureRecord&)> failed;
  /// A worker has succeeded whose success is that of the job, once per round. In a job of one
  /// node nobody else need know: end_workers() and WorkerVerdict are the driver's.
  std::function<void(rendezvous::JobDecision)> decided = {};
  /// is_serving() has become false.
  std::function<void()> idle;
  /// has_ranks() may have become false.
  std::function<void()> ranks_gone;
  /// To all nodes of the round; the answer is exchanged(). Numbered from 0 in each attempt.
  std::function<void(uint64_t sequence, std::string bytes)> exchange;
  /// The nodes that the leader here has, without those that leave; empty = it is not here.
  std::function<std::vector<rendezvous::RosterEntry>()> nodes;
  /// The controller wants so many nodes with workers.
  std::function<void(int hosts)> hosts_changed;
  /// The folder of the attempt for files of workers; "" = nobody asked for any.
  std::function<std::string()> log_dir;
  /// What the network libraries of this node's workers need in the attempt that begins; empty with
  /// --no-fabric-env.
  std::function<std::vector<PlannedVariable>()> network = [] {
    return std::vector<PlannedVariable>();
  };
  /// How many workers this node starts in each attempt. After start().
  std::function<int()> workers = {};
  /// The process that was started for this local rank, while it runs.
  std::function<std::optional<pid_t>(int local_rank)> process_of;
  /// SIGKILL to it; its end counts as its own.
  std::function<void(int local_rank)> kill;
  /// What follows the end of a worker that is kept: it starts again, or its end counts. Nothing if
  /// all were told to end meanwhile. From the loop, not from ApartWorkers::after().
  std::function<void(int local_rank, bool again)> resolve = {};
  /// This signal to all processes of this node; how they end after it is no failure.
  std::function<void(int signal)> signal;
  /// SIGTERM to them, SIGKILL after `grace`.
  std::function<void(Duration grace)> end_workers;
};

}  // namespace muster::launcher
