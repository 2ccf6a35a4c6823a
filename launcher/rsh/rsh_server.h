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

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/socket.h"
#include "base/tls.h"
#include "launcher/init.h"
#include "launcher/rsh/early_calls.h"
#include "launcher/rsh/rsh_calls.h"
#include "launcher/rsh/rsh_drain.h"
#include "launcher/rsh/rsh_environment.h"
#include "launcher/rsh/rsh_request.h"
#include "rendezvous/round_report.h"

namespace muster::launcher {

/// Commands at a time. A daemon per job and worker is usual. As many connections again may wait.
inline constexpr size_t kMaxRshRequests = 1024;
/// With the ranks of an MPI job, which report to the launcher's agent: each has a connection there.
inline constexpr size_t kMaxRshLines = 16384;
/// After stop(): for callers to take what their commands wrote last.
inline constexpr Duration kRshStopDeadline = std::chrono::seconds(2);

/// Borrowed for the life of the server, but for the strings.
struct RshServerSetup {
  Loop& loop;
  ProcessHost& processes;
  const Files& files;
  Network& network;
  const Environment& pod;     ///< the agent's own environment
  const ProcessSetup& setup;  ///< descriptor limit
  const TlsContext* tls;      ///< null = no job secret: loopback and our own user only
  std::string node;           ///< of this agent
  std::string run_id;
  std::string agent_token;
  size_t max_nodes = 1;       ///< of the job
  bool ranks_report = false;  ///< what runs here may be ranks, which need the secret to report
};

class RshServer {
 public:
  /// kOs: no working directory, when the job secret's file is a relative path; no door.
  static Result<std::unique_ptr<RshServer>> create(RshServerSetup setup);
  RshServer(const RshServer&) = delete;
  RshServer& operator=(const RshServer&) = delete;

  /// "NAME=value" strings that workers need to call `muster rsh`.
  [[nodiscard]] std::vector<std::string> worker_variables() const;
  /// A round begins: these can be called from now on.
  void set_nodes(std::vector<rendezvous::RosterEntry> nodes);
  /// From now on these hear of ranks and of commands (rsh_request.h), and of calls from this node
  /// for a node that the job does not have.
  void watch(RankHooks ranks, std::function<void(const RshCommandEnd&)> command_ended,
             std::function<void(const std::string& reason)> no_node = {});
  /// To the launcher that reports on that line: it hangs (rsh::LauncherHangs).
  void tell_hangs(uint64_t line);
  /// "NAME=value", for commands that start from now on; those that were held begin.
  void set_variables(std::vector<std::string> variables);
  void hold_early_calls();  ///< until set_variables(), and again after every kill_all()
  /// From the loop, when the last command that ran here has ended.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }
  [[nodiscard]] bool busy() const;  ///< some command runs here
  /// A connection from the job port (Protocol::kCommands).
  void adopt(UniqueFd connection, std::string first_bytes);
  /// A child of this process was reaped, perhaps one of ours.
  void process_exited(const Reaped& reaped);
  void kill_all();  ///< SIGKILL to everything that runs: the round is over here
  /// The same within a round, when nodes come and go.
  void update_nodes(std::vector<rendezvous::RosterEntry> nodes);
  /// This node goes: false until all commands ended or were given `grace` to (rsh_drain.h); then
  /// `done` comes from the loop. Only the first call's words count.
  bool drained(Duration grace, std::function<void()> done);
  void hurry() { drain_.hurry(); }  ///< ends that wait now
  /// kill_all() for good; `stopped` comes from the loop when nothing is left.
  void stop(std::function<void()> stopped);

 private:
  explicit RshServer(RshServerSetup setup);
  [[nodiscard]] size_t most() const;
  [[nodiscard]] Status admit(int connection) const;
  Result<SpawnRequest> plan(const rsh::Run& run, const std::string& mark) const;
  void tell_refused(const std::string& peer, const std::string& reason);
  void begin(UniqueFd connection, std::string first_bytes);
  void terminate_all(), remove_ended(), add(std::unique_ptr<RshChannel> channel);
  [[nodiscard]] RshShell caller_language() const;
  [[nodiscard]] std::string mark_of(uint64_t number) const;
  std::function<void()> when_ended();

  RshServerSetup setup_;
  Account account_;
  std::string secret_file_, door_;  // "" = none, else absolute; rsh_door_name()
  RshRequestContext context_;
  std::vector<rendezvous::RosterEntry> nodes_;
  std::map<uint64_t, std::unique_ptr<RshRequest>> requests_;
  std::vector<std::string> variables_;
  std::unique_ptr<RshCalls> calls_;
  uint64_t next_number_ = 1;
  std::function<void()> idle_, stopped_;             // may be empty
  std::function<void(const std::string&)> no_node_;  // may be empty
  bool stopping_ = false, holds_early_ = false;
  TimePoint refusals_until_;
  int refusals_ = 0, untold_ = 0;
  RshDrain drain_;
  EarlyCalls early_;
  Timer cleaning_, stop_timer_;
};

}  // namespace muster::launcher
