// RshRequest: a command that another agent has run here for a caller, and the connection that it
// came on (or of a rank, which reports). It does what rsh_request_table.h says.
// Everything that the command starts carries a mark in its environment, and nothing of it outlives
// the request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/process.h"
#include "base/strangers.h"
#include "mpi/rsh/rsh_channel.h"
#include "mpi/rsh/rsh_reporter.h"
#include "mpi/rsh/rsh_request_context.h"
#include "mpi/rsh/rsh_request_table.h"
#include "mpi/rsh/rsh_stream.h"

namespace muster::mpi {

/// From the moment that the connection is open to the command.
inline constexpr Duration kRshQuestionDeadline = std::chrono::seconds(10);
/// From the end of a command to the next one on its connection. Longer than kRshIdleLink, so that
/// it is the other side that closes.
inline constexpr Duration kRshNextDeadline = std::chrono::seconds(90);
/// Between SIGTERM, when the caller is gone, and SIGKILL.
inline constexpr Duration kRshGrace = std::chrono::seconds(5);
/// Between two rounds of SIGKILL, and between two looks whether a daemon still lives.
inline constexpr Duration kRshSweepInterval = std::chrono::milliseconds(50);
inline constexpr Duration kRshDaemonInterval = std::chrono::milliseconds(200);
/// So many looks in a row must miss it: a process that execs is not found for a moment.
inline constexpr int kRshDaemonMisses = 3;
/// What survives SIGKILL this long sits in the kernel.
inline constexpr Duration kRshSweepDeadline = std::chrono::seconds(10);

class RshRequest {
 public:
  /// `ended` comes once, from the loop, and may not destroy the request (soon() may). `number`: not
  /// 0, unique in this agent. `mark`: unique among the requests of all agents. `admitted`: an error
  /// is the only answer that the caller gets.
  RshRequest(const RshRequestContext& context, Arrival arrival, uint64_t number, std::string mark,
             const Status& admitted, std::function<void()> ended);
  /// On a connection that another request is done with (take_channel()).
  RshRequest(const RshRequestContext& context, std::unique_ptr<RshChannel> channel, uint64_t number,
             std::string mark, std::function<void()> ended);
  RshRequest(const RshRequest&) = delete;
  RshRequest& operator=(const RshRequest&) = delete;

  /// The process of the command; 0 = none, or reaped.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// It runs a command, or what is left of one.
  [[nodiscard]] bool has_command() const;
  /// It was reaped.
  void process_exited(const ExitStatus& status);
  /// SIGTERM to what the command's shell has started. The shell itself gets none: when it ends,
  /// all of the rest is killed.
  void tell_to_end();
  /// The end of the round or of the job: SIGKILL to everything of it.
  void kill() { handle(RshEvent::kKill); }
  [[nodiscard]] bool ended() const { return state_ == RshState::kEnded; }
  /// Of one that ended: the connection, if its peer may have another command. Else null.
  [[nodiscard]] std::unique_ptr<RshChannel> take_channel();
  /// It waits for its first word.
  [[nodiscard]] bool is_idle() const { return state_ == RshState::kIdle && !reporter_.is_there(); }

 private:
  RshChannelHandlers handlers();
  void await_command(Duration at_most);
  void on_open();
  void on_message(RshMessage message);
  void on_closed(const Error& error);
  void take(const rsh::Run& run);
  void answer(const Result<bool>& report);
  void violated(const Error& error);

  void handle(RshEvent event);
  void perform(RshAction action);
  void spawn();
  Result<pid_t> start_process();
  void refuse();
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
  RshReporter reporter_;
  // What kRefuse tells; its reason is set from the start if nothing may be answered.
  rsh::Refused refusal_;
  int told_ = 0;        // the last signal that the caller sent
  pid_t pid_ = 0;       // 0 = there is none, or it was reaped
  pid_t last_pid_ = 0;  // for display
  int daemon_misses_ = 0;
  ExitStatus status_;
  TimePoint started_;
  TimePoint sweep_started_;
  RshSink stdin_;
  RshSource stdout_;
  RshSource stderr_;
  Timer grace_timer_;
  Timer sweep_timer_;
};

/// The program that a command line is about, for people and without its arguments, which may hold
/// secrets: a daemon of an MPI where there is one, else the first word ("orted", "true"). Pure.
[[nodiscard]] std::string rsh_program_name(const std::string& command);

}  // namespace muster::mpi
