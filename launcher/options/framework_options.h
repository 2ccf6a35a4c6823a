// FrameworkOptions: for what framework the workers are started, and how. Filled by
// framework_flags.cc and mpi_flags.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "launcher/options/choice.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

/// kPytorch serves everything that reads torchrun's variables, or none; the others add to them.
/// kMpi: the ranks of an MPI program, however they are started. kPlain: commands that are told
/// nothing of ranks.
enum class Framework {
  kPytorch,
  kMpi,
  kXgboost,
  kTensorflow,
  kJax,
  kHorovod,
  kLightgbm,
  kPaddle,
  kPlain,
};

/// The value of --framework that a contract may replace; without one it is PyTorch's.
inline constexpr std::string_view kAutoFramework = "auto";

inline constexpr Choice<Framework> kFrameworks[] = {{kAutoFramework, Framework::kPytorch},
                                                    {"pytorch", Framework::kPytorch},
                                                    {"mpi", Framework::kMpi},
                                                    {"xgboost", Framework::kXgboost},
                                                    {"tensorflow", Framework::kTensorflow},
                                                    {"jax", Framework::kJax},
                                                    {"horovod", Framework::kHorovod},
                                                    {"lightgbm", Framework::kLightgbm},
                                                    {"paddle", Framework::kPaddle},
                                                    {"plain", Framework::kPlain}};

/// What starts again when a worker fails: all of them, or it alone.
enum class RestartScope { kGroup, kWorker };

/// So many workers of one role, in the order of their ranks.
struct RoleCount {
  std::string role;  ///< "chief", "worker", "ps", "evaluator"
  int count = 0;     ///< > 0
};

/// Who starts the ranks of an MPI job. kMpirun: node rank 0 starts the launcher of an MPI, and that
/// starts the ranks. kPmi, kPmix: every agent starts its own as its workers, and they find each
/// other through the agents (rank_server.h). kCommand: the user's command is a launcher, of which
/// nothing is known but that it calls ssh. kElastic: the same, and it outlives changes of the
/// nodes.
enum class MpiLaunch { kMpirun, kPmi, kPmix, kCommand, kElastic };

/// Which part a node takes where not all are alike. kLauncher: it starts mpirun and has no ranks.
/// kLauncherWorker: both. kWorker: ranks only; it never leads. kAny: node rank 0 starts mpirun.
enum class MpiRole { kAny, kLauncher, kLauncherWorker, kWorker };

/// By what mpirun reaches the other nodes. kRsh: `muster rsh`. kSsh: the image's OpenSSH. kSshd:
/// the nodes have SSH servers of their own and no agent; kSshdUnverified: whose keys nobody knows.
enum class MpiTransport { kRsh, kSsh, kSshd, kSshdUnverified };

/// Intel MPI takes whole seconds.
inline constexpr Duration kMinMpiStartTimeout = std::chrono::seconds(1);

/// Of independent programs.
struct PlainOptions {
  std::optional<int> runs;         ///< --runs; none = as many as workers
  std::optional<int> parallelism;  ///< runs at a time, of all nodes; none = as many as workers
  RestartScope restart_scope = RestartScope::kGroup;
};

struct FrameworkOptions {
  Framework framework = Framework::kPytorch;
  bool xgboost_hook = true;      ///< --xgboost-hook auto
  bool jax_hook = true;          ///< --jax-hook auto
  bool lightgbm_hook = true;     ///< --lightgbm-hook auto
  std::vector<RoleCount> roles;  ///< --roles; empty = all workers are alike
  PlainOptions plain;
  std::optional<mpi::Implementation> mpi;  ///< --mpi; none = whichever is found
  MpiLaunch mpi_launch = MpiLaunch::kMpirun;
  bool mpi_launch_given = false;  ///< by somebody, so it is not guessed
  MpiRole role = MpiRole::kAny;
  MpiTransport mpi_transport = MpiTransport::kRsh;
  std::string mpi_ssh_keys = {};  ///< a folder or a private key, absolute; "" = keys are made
  int mpi_ssh_port = 0;           ///< 0 = any
  /// From mpirun's start until all ranks have begun.
  Duration mpi_start_timeout = std::chrono::minutes(5);
  [[nodiscard]] bool is_mpi() const { return framework == Framework::kMpi; }
  [[nodiscard]] bool uses_mpirun() const { return is_mpi() && mpi_launch == MpiLaunch::kMpirun; }
  [[nodiscard]] bool is_elastic() const { return is_mpi() && mpi_launch == MpiLaunch::kElastic; }
  /// The command is the launcher.
  [[nodiscard]] bool runs_command() const {
    return is_elastic() || (is_mpi() && mpi_launch == MpiLaunch::kCommand);
  }
  /// One node starts a launcher, which starts the ranks of all.
  [[nodiscard]] bool starts_launcher() const { return uses_mpirun() || runs_command(); }
  /// This node and no other starts the ranks.
  [[nodiscard]] bool launches() const {
    return role == MpiRole::kLauncher || role == MpiRole::kLauncherWorker;
  }
  /// There must be another node.
  [[nodiscard]] bool needs_others() const {
    return role == MpiRole::kLauncher || role == MpiRole::kWorker;
  }
  [[nodiscard]] bool uses_ssh() const {
    return uses_mpirun() && mpi_transport == MpiTransport::kSsh;
  }
  /// This agent is the only one there is.
  [[nodiscard]] bool uses_sshd() const {
    return uses_mpirun() &&
           (mpi_transport == MpiTransport::kSshd || mpi_transport == MpiTransport::kSshdUnverified);
  }
  [[nodiscard]] bool uses_pmi() const { return is_mpi() && mpi_launch == MpiLaunch::kPmi; }
  [[nodiscard]] bool uses_pmix() const { return is_mpi() && mpi_launch == MpiLaunch::kPmix; }
  /// Ranks of MPI as workers of the agents.
  [[nodiscard]] bool starts_ranks() const { return uses_pmi() || uses_pmix(); }
};

}  // namespace muster::launcher
