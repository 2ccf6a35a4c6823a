// RankRunner: `muster rank -- PROGRAM` between an MPI daemon and a rank. It starts the rank, passes
// signals on, and reports its beginning and its end to the agent of the launcher. It stays until
// that agent has noted the end, so that the launcher does not end the other ranks for it before
// they have saved. What the rank prints passes through it in whole lines (launcher/output).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/container_watch.h"
#include "base/process/init.h"
#include "base/process/told_processes.h"
#include "base/signals.h"
#include "base/socket.h"
#include "base/tls.h"
#include "launcher/output/output.h"
#include "mpi/rank/pmi_relay.h"
#include "mpi/rank/pmix_relay.h"
#include "mpi/rsh/rsh_channel.h"

namespace muster::launcher {

/// After the rank's end, for its report to leave; then the exit code is all there is.
inline constexpr Duration kRankReportDeadline = std::chrono::seconds(5);
/// The same when its launcher ends it, which it does at once.
inline constexpr Duration kRankLinger = std::chrono::milliseconds(200);
/// For whoever reads our output to take what is left of the rank's.
inline constexpr Duration kRankFlushDeadline = std::chrono::seconds(5);
/// Between SIGTERM, when the job is over without us, and SIGKILL.
inline constexpr Duration kRankGrace = std::chrono::seconds(5);

/// Borrowed for the life of the runner, but for the values.
struct RankRunnerSetup {
  Loop& loop;
  Network& network;
  ProcessHost& processes;
  Files& files;
  Console& console;
  const TlsContext* tls;  ///< null = no job secret
  const ProcessSetup& setup;
  Address agent;                ///< of the launcher
  mpi::rsh::Rank rank;          ///< without pid
  Result<std::string> program;  ///< where it is; an error is reported as the rank's end
  std::vector<std::string> arguments;
  Environment environment;
  WorkerLabel label;
  OutputOptions streams;
  UniqueFd pmi_fd;      ///< inherited; not open = none
  UniqueFd input = {};  ///< stdin of the rank; not open = ours
};

class RankRunner {
 public:
  /// `done` comes once, from the loop, with the exit code and why it is none of the rank's ("").
  using Done = std::function<void(int exit_code, const std::string& why)>;
  RankRunner(RankRunnerSetup setup, Done done);
  RankRunner(const RankRunner&) = delete;
  RankRunner& operator=(const RankRunner&) = delete;

  /// Starts the rank and the report. One that cannot be started ends with 126 or 127 as in a shell.
  void start();
  void handle_signal(const ReceivedSignal& signal);

 private:
  // What the launcher's agent knows: later ones include the earlier.
  enum class Report { kNothing, kConnected, kEnd, kNoted };
  // Signals that ask the rank to end, and who has heard of them.
  struct Told {
    int signal = 0;
    bool asked = false;       // by the agent, before the daemon told it
    ToldProcesses processes;  // the rank, and what is below it
  };
  Status spawn();
  Status open_output();
  Status watch_pmix();
  [[nodiscard]] bool has_begun() const;
  void report_begin();
  void report_init();
  void on_message(const mpi::RshMessage& message);
  void on_closed(const Error& error);
  void reap();
  void report_end();
  void report_abort(int code);
  void rank_ended();
  void explain(mpi::rsh::RankEnd& end) const;
  void stop_rank(const std::string& why);
  void finish();

  RankRunnerSetup setup_;
  Done done_;
  ContainerWatch container_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<mpi::RshChannel> channel_;
  std::unique_ptr<mpi::PmiRelay> pmi_;    // of MPICH and Intel MPI
  std::unique_ptr<mpi::PmixRelay> pmix_;  // of Open MPI
  pid_t pid_ = 0;
  Told told_;
  Report report_ = Report::kNothing;
  bool ended_ = false;  // nothing is left that was told to end
  std::optional<ExitStatus> status_;
  std::string why_;            // it was stopped
  std::string start_problem_;  // it never ran
  Timer timer_;
};

}  // namespace muster::launcher
