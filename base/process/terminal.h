// Terminal: job control for one program that is started on the terminal of our own session, as a
// shell does it for a job. The program leads a process group of its own, which gets the foreground:
// so it has the keys (Ctrl-C, Ctrl-Z), the changes of size and /dev/tty, and can run jobs itself.
// Used by launcher/workers/local_group.h. Not a pseudo-terminal: nothing passes through us.
//
// When the program stops, whoever started us gets the terminal back and our own group is stopped,
// so that an outer shell has its prompt; its `fg` and `bg` reach the program through us. As the
// leader of the session, as PID 1 is, nobody could continue us. Then the program goes on at once.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "base/process.h"
#include "base/process/terminal_table.h"

namespace muster {

class Terminal {
 public:
  /// None: our stdin is no terminal, or that of another session. One that is nobody's becomes that
  /// of our session where we lead one, for which PID 1 begins one. `host` is borrowed.
  static std::optional<Terminal> find(ProcessHost& host);

  /// Puts what is needed into `request`; spawn it, then call started(). All signals must be
  /// blocked, so that none stops us while the foreground changes.
  void prepare(SpawnRequest& request);
  /// 0: it could not be started.
  void started(pid_t program);
  /// On SIGCHLD: the program may have been stopped.
  void look();
  /// On SIGTSTP, instead of suspend_self(): returns when we go on.
  void suspend();
  /// On SIGCONT, before the program gets it, too.
  void continued();
  /// What the program has done to the terminal's settings stays if it succeeded, as stty does; else
  /// they are as they were at its start. Returns the key that ended it: SIGINT, SIGQUIT or 0.
  int ended(const ExitStatus& status);

 private:
  explicit Terminal(ProcessHost& host) : host_(&host) {}
  void handle(TerminalEvent event);

  ProcessHost* host_;
  TerminalState state_ = TerminalState::kIdle;
  pid_t program_ = 0;                // it leads its group; 0 = none
  std::optional<termios> settings_;  // at its start in the foreground
};

}  // namespace muster
