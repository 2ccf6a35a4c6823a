// RshServer: an agent's side of `muster rsh`. It takes connections of other agents from the job
// port, says who may have commands run, knows the nodes of the round and owns the requests
// (rsh_request.h) that run commands here, and the calls that are made here (rsh_calls.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/line_budget.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/init.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "base/tls.h"
#include "mpi/rsh/early_calls.h"
#include "mpi/rsh/rsh_calls.h"
#include "mpi/rsh/rsh_drain.h"
#include "mpi/rsh/rsh_environment.h"
#include "mpi/rsh/rsh_request.h"
#include "rendezvous/messages/round_report.h"

namespace muster::mpi {

/// Commands at a time. Usual is one daemon of each job and node.
inline constexpr size_t kMaxRshRequests = 1024;
/// The same on a node that may be told of the ranks of an MPI job: each rank has a connection.
inline constexpr size_t kMaxRshLines = 16384;
/// After stop(), so that callers can take what their commands wrote last.
inline constexpr Duration kRshStopDeadline = std::chrono::seconds(2);

/// Borrowed for the life of the server, but for the strings.
struct RshServerSetup {
  Loop& loop;
  ProcessHost& processes;
  const Files& files;
  Network& network;
  const Environment& pod;     ///< the agent's own environment
  const ProcessSetup& setup;  ///< descriptor limit
  const TlsContext* tls;      ///< null = no job secret: this machine alone, at the door
  std::string node;           ///< of this agent
  uint64_t incarnation = 0;   ///< of this agent
  std::string run_id;
  std::string agent_token;
  size_t max_nodes = 1;       ///< of the job
  bool ranks_report = false;  ///< what runs here may be ranks, which need the secret to report
  /// Connections at a time that have a command or a report; kMaxRshLines if ranks report here.
  size_t max_requests = kMaxRshRequests;
};

class RshServer {
 public:
  /// kOs: no working directory, when the job secret's file is a relative path; no door.
  static Result<std::unique_ptr<RshServer>> create(RshServerSetup setup);
  RshServer(const RshServer&) = delete;
  RshServer& operator=(const RshServer&) = delete;

  /// What workers need to call `muster rsh`.
  [[nodiscard]] std::vector<PlannedVariable> worker_variables() const;
  /// These nodes can be called from now on: at the begin of a round, and when nodes come or go.
  /// Connections that were kept for later calls are closed.
  void set_nodes(std::vector<rendezvous::RosterEntry> nodes);
  /// Sets who hears of ranks, of the end of commands (rsh_request.h), and of calls from this node
  /// for a node that the job does not have.
  void watch(RankHooks ranks, std::function<void(const RshCommandEnd&)> command_ended,
             std::function<void(const std::string& reason)> no_node = {});
  /// For commands that start from now on. Calls that were held begin.
  void set_variables(std::vector<PlannedVariable> variables);
  /// Holds calls until set_variables(), now and after every kill_all().
  void hold_early_calls();
  /// `idle` comes from the loop, when the last command that ran here has ended.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }
  /// Some command runs here.
  [[nodiscard]] bool busy() const;
  /// Takes a connection from the job port (Protocol::kCommands).
  void adopt(Arrival arrival);
  /// A child of this process was reaped; it may be one of ours.
  void process_exited(const Reaped& reaped);
  /// The round is over here: SIGKILL to everything that runs.
  void kill_all();
  /// This node leaves. False until all commands have ended, or were told to and had `grace`
  /// (rsh_drain.h); then `done` comes from the loop. Only the arguments of the first call count.
  bool drained(Duration grace, std::function<void()> done);
  /// Ends the waits of drained() now.
  void hurry() { drain_.hurry(); }
  /// kill_all() for good. `stopped` comes from the loop, when nothing is left.
  void stop(std::function<void()> stopped);

 private:
  explicit RshServer(RshServerSetup setup);
  [[nodiscard]] Status has_room() const;
  Result<SpawnRequest> plan(const rsh::Run& run, const std::string& mark) const;
  void begin(Arrival arrival, const Status& admitted);
  void add(std::unique_ptr<RshChannel> channel);
  void terminate_all();
  void remove_ended();
  [[nodiscard]] std::string mark_of(uint64_t number) const;
  std::function<void()> when_ended();

  RshServerSetup setup_;
  Account account_;
  std::string secret_file_;  // absolute path; "" = none
  RshRequestContext context_;
  std::vector<rendezvous::RosterEntry> nodes_;
  std::map<uint64_t, std::unique_ptr<RshRequest>> requests_;
  std::vector<PlannedVariable> variables_;
  std::unique_ptr<RshCalls> calls_;
  std::unique_ptr<RshDoor> door_for_commands_;  // without a job secret, else null
  uint64_t next_number_ = 1;
  std::function<void()> idle_;                       // may be empty
  std::function<void()> stopped_;                    // may be empty
  std::function<void(const std::string&)> no_node_;  // may be empty
  bool stopping_ = false;
  bool holds_early_ = false;
  LineBudget lines_;  // about those who are refused
  RshDrain drain_;
  EarlyCalls early_;
  Timer cleaning_;
  Timer stop_timer_;
};

}  // namespace muster::mpi
