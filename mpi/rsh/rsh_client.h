// RshClient: the calling side of `muster rsh`. Asks its own agent to have the command run and
// stands for it: its streams, its signals, its exit code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/signals.h"
#include "mpi/launch/rsh_command_line.h"
#include "mpi/rsh/rsh_channel.h"
#include "mpi/rsh/rsh_stream.h"

namespace muster::mpi {

/// What it borrows, for its life.
struct RshClientSetup {
  Loop& loop;
  UniqueFd agent;  ///< connected to the door of this node's agent
  RshCommandLine call;
  UniqueFd stdin_fd;  ///< non-blocking, or read by nobody else; not open: an empty stdin
  RshTarget stdout_target;
  RshTarget stderr_target;
};

class RshClient {
 public:
  /// `done` comes once, from the loop, with the exit code. `why`: the reason for kRshFailed; "" =
  /// the code is the command's own, or nobody is left to hear a reason.
  using Done = std::function<void(int exit_code, const std::string& why)>;

  RshClient(RshClientSetup setup, Done done);
  RshClient(const RshClient&) = delete;
  RshClient& operator=(const RshClient&) = delete;

  void start();
  /// TERM, INT, HUP, QUIT, USR1 and USR2 go to the command. If it does not run yet, the agent ends
  /// the call with that signal.
  void handle_signal(int signal);
  /// The process that called us is gone, so the command must end.
  void caller_gone();

 private:
  void call();
  void on_message(RshMessage message);
  void take_data(const rsh::Data& data);
  void on_closed(const Error& error);
  RshSink& sink(RshStream stream) { return stream == RshStream::kStdout ? stdout_ : stderr_; }
  void finish_when_written();
  void fail(const std::string& why);
  void finish(int exit_code, const std::string& why);

  RshClientSetup setup_;
  Done done_;
  std::unique_ptr<RshChannel> channel_;
  std::optional<int> exit_code_;
  RshSource stdin_;
  RshSink stdout_;
  RshSink stderr_;
  Timer next_;  // the next step, from a turn of its own
};

}  // namespace muster::mpi
