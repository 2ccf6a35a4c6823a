// Guardian: a child of the agent that outlives it for a moment, to kill what an agent that was
// itself SIGKILLed could not. Rank processes die with the agent by their parent-death signal; their
// own children and daemons would not, and the agent's folder would stay. Not needed as PID 1, where
// the kernel ends the whole namespace.
#pragma once

#include <string>

#include "base/process.h"
#include "base/process/init.h"

namespace muster {

/// The agent's end of it. While it is open the guardian sleeps in read(2); dropping it without
/// dismiss() is what the guardian takes for the agent's death.
class Guardian {
 public:
  /// Starts `muster guard -` in its own session. It is told `token` and `folder` through a pipe,
  /// because every user of the machine reads the words of a command line, and whoever knows the
  /// folder before it is made can be there first. `folder` need not exist. Errors: make_pipe,
  /// ProcessHost::spawn.
  static Result<Guardian> start(ProcessHost& host, const ProcessSetup& setup,
                                const std::string& token, const std::string& folder);
  /// One more folder that it is to remove if it is empty then; made and named by ourselves.
  void also_remove(const std::string& folder);
  /// Ends it without a search: everything is gone already.
  void dismiss();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Guardian(pid_t pid, UniqueFd line) : pid_(pid), line_(std::move(line)) {}
  pid_t pid_;
  UniqueFd line_;
};

/// The guardian's side, with the pipe as stdin: waits for the end of the agent, then kills what
/// carries its token and removes its folders. Returns its exit code.
int run_guardian();

}  // namespace muster
