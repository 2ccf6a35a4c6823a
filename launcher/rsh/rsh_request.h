// RshRequest: one connection to an agent that asks for a node's address or for a command to be run.
// It does what rsh_request_table.h says. Everything that the command starts carries a mark in its
// environment, and nothing of it outlives the request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/loop.h"
#include "base/process.h"
#include "launcher/rsh/rsh_channel.h"
#include "launcher/rsh/rsh_ranks.h"
#include "launcher/rsh/rsh_request_table.h"
#include "launcher/rsh/rsh_stream.h"

namespace muster::launcher {

/// From the open connection to the command.
inline constexpr Duration kRshQuestionDeadline = std::chrono::seconds(10);
/// Between SIGTERM, when the caller is gone, and SIGKILL.
inline constexpr Duration kRshGrace = std::chrono::seconds(5);
/// Between two rounds of SIGKILL, and between two looks whether a daemon still lives.
inline constexpr Duration kRshSweepInterval = std::chrono::milliseconds(50);
inline constexpr Duration kRshDaemonInterval = std::chrono::milliseconds(200);
/// So many looks in a row must miss it: a process that execs is not found for a moment.
inline constexpr int kRshDaemonMisses = 3;
/// Questions on one connection; ours asks one.
inline constexpr int kMaxRshLookups = 16;
/// What survives SIGKILL this long sits in the kernel.
inline constexpr Duration kRshSweepDeadline = std::chrono::seconds(10);

/// What a request borrows from the server, for its life.
struct RshRequestContext {
  Loop& loop;
  ProcessHost& processes;
  const TlsContext* tls;  ///< null = no job secret
  std::string node;       ///< of this agent
  std::string run_id;
  std::function<Result<rsh::Found>(const std::string& host)> find;
  /// What to start for a command, all but the descriptors; `mark` goes into its environment.
  std::function<SpawnRequest(const std::string& command, const std::string& mark)> plan;
  /// Tells of a call that was not served, but not of every one of a flood.
  std::function<void(const std::string& peer, const std::string& reason)> tell_refused;
  RankHooks ranks = {};
  std::function<void(const RshCommandEnd&)> command_ended = {};  ///< may be empty
};

class RshRequest {
 public:
  /// `ended` comes once, from the loop, and may not destroy the request (post that). `number`:
  /// unique among those of this agent, not 0. `mark`: unique
  /// among all requests of all agents. `admitted`: an error is told to the caller in place of any
  /// answer.
  RshRequest(const RshRequestContext& context, UniqueFd connection, std::string first_bytes,
             uint64_t number, std::string mark, const Status& admitted,
             std::function<void()> ended);
  RshRequest(const RshRequest&) = delete;
  RshRequest& operator=(const RshRequest&) = delete;

  /// The process of the command; 0 = none, or reaped.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// It runs a command, or what is left of one.
  [[nodiscard]] bool has_command() const;
  /// It was reaped.
  void process_exited(const ExitStatus& status);
  /// The end of the round or of the job: SIGKILL to everything of it.
  void kill() { handle(RshEvent::kKill); }
  [[nodiscard]] bool ended() const { return state_ == RshState::kEnded; }

 private:
  void on_open();
  void on_message(RshMessage message);
  void on_closed(const Error& error);
  void take(const rsh::Run& run);
  void take(const rsh::Rank& rank);
  void take(const rsh::RankEnd& end);
  void violated(const Error& error);

  void handle(RshEvent event);
  void perform(RshAction action);
  void spawn();
  Result<pid_t> start_process();
  void refuse(std::string reason);
  void caller_gone(const std::string& why);
  void terminate();
  void sweep();
  void report();
  void report_exit();
  void command_ended();
  void await_daemon();
  [[nodiscard]] std::string mark_entry() const;

  const RshRequestContext& context_;
  const std::string mark_;
  std::function<void()> ended_;
  RshState state_ = RshState::kIdle;
  std::unique_ptr<RshChannel> channel_;
  rsh::Run run_;
  uint64_t line_ = 0;  // of a rank that lives and reports here; 0 = none
  uint64_t number_;
  std::string refusal_;  // what kRefuse tells; not empty from the start: nothing is answered
  pid_t pid_ = 0, last_pid_ = 0;  // the second for display
  int lookups_ = 0, daemon_misses_ = 0;
  ExitStatus status_;
  TimePoint started_, sweep_started_;
  RshSink stdin_;
  RshSource stdout_;
  RshSource stderr_;
  Timer grace_timer_;
  Timer sweep_timer_;
};

/// The program that a command line is about, for people and without its arguments, which may hold
/// secrets: a daemon of an MPI where there is one, else the first word ("orted", "true"). Pure.
[[nodiscard]] std::string rsh_program_name(const std::string& command);

}  // namespace muster::launcher
