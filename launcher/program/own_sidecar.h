// OwnSidecar: `muster sidecar` as a child of the agent (`muster run --report`). Nothing that goes
// wrong with it stops the job, or changes how it ends.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/init.h"
#include "base/signals.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// The `targets` of --report that can be told anything here, as words. Each other one is logged,
/// and the job goes on without it.
[[nodiscard]] std::string usable_targets(const std::string& targets, const Environment& environment,
                                         const Files& files);

/// Of what is left of the time that a pod has for its end, of which workers have used most.
inline constexpr Duration kMaxFlushAfterStop = std::chrono::seconds(5);

class OwnSidecar {
 public:
  /// Both are borrowed.
  OwnSidecar(Loop& loop, ProcessHost& processes) : loop_(loop), processes_(processes) {}
  OwnSidecar(const OwnSidecar&) = delete;
  OwnSidecar& operator=(const OwnSidecar&) = delete;

  /// If anybody is to be told. It outlives an agent that is killed, for as long as it needs to tell
  /// the rest (--flush-timeout). `own_folder`: it removes the folder when all is told.
  void start(const Options& options, const std::string& folder, bool own_folder,
             const Environment& environment, const ProcessSetup& setup);
  /// 0 = there is none.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// What the agent is told: whoever asks for the job's end may not wait for reports.
  void note(const ReceivedSignal& signal, const ProcessSetup& setup);
  /// Lets it tell the rest, for as long as --flush-timeout, and kMaxFlushAfterStop after note(); a
  /// signal that asks for an end cuts that short. One that has died begins once more. The agent
  /// must have let go of the journal, and nobody else reaps any more.
  void finish(const ProcessSetup& setup);

 private:
  bool spawn();
  void reap();
  void cut();
  bool wait_for_end(const ProcessSetup& setup);

  Loop& loop_;
  ProcessHost& processes_;
  pid_t pid_ = 0;
  bool running_ = false;
  bool died_ = false;     // of a signal
  bool cut_ = false;      // of ours
  bool stopped_ = false;  // somebody has asked for the job's end
  std::string folder_;
  SpawnRequest request_;
  Duration flush_{};
};

}  // namespace muster::launcher
