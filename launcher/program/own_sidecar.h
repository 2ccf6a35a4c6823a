// OwnSidecar: `muster sidecar` as a child of the agent (`muster run --report`). Nothing that goes
// wrong with it stops the job, or changes how it ends.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/init.h"
#include "launcher/options/options.h"

namespace muster::launcher {

class OwnSidecar {
 public:
  /// Both are borrowed.
  OwnSidecar(Loop& loop, ProcessHost& processes) : loop_(loop), processes_(processes) {}
  OwnSidecar(const OwnSidecar&) = delete;
  OwnSidecar& operator=(const OwnSidecar&) = delete;

  /// If anybody is to be told. It outlives an agent that is killed, for as long as it needs to tell
  /// the rest (--flush-timeout).
  void start(const Options& options, const std::string& folder, const Environment& environment,
             const ProcessSetup& setup);
  /// 0 = there is none.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Lets it tell the rest, for as long as `flush`; a signal that asks for an end cuts that short.
  /// The agent must have let go of the journal, and nobody else reaps any more. True: all is told,
  /// or there was none.
  bool finish(const ProcessSetup& setup, Duration flush);

 private:
  void reap();

  Loop& loop_;
  ProcessHost& processes_;
  pid_t pid_ = 0;
  bool running_ = false;
  ExitStatus status_;
};

}  // namespace muster::launcher
