// WorkerPlan: all that is known before an attempt about the workers of this node: how many, which
// command, which CPUs; and from it the SpawnRequest of each. Reads the machine once, in make();
// after that it is pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/process.h"
#include "base/process/init.h"
#include "base/socket.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/options/options.h"
#include "launcher/output/output.h"
#include "launcher/workers/numa_binding.h"
#include "launcher/workers/worker_command.h"

namespace muster::launcher {

/// Where this node stands in the job. Alone: the defaults.
struct NodePlace {
  int rank_offset = 0;  ///< rank of local rank 0
  int world_size = 0;   ///< 0 = just this node's workers
  int node_rank = 0;
  int node_count = 1;
  int role_rank_offset = 0;  ///< the same among the workers of this node's role
  int role_world_size = 0;   ///< 0 = as world_size
};

/// One process that starts the ranks of all nodes, in place of one per worker.
struct JobLauncher {
  std::string name;  ///< "mpirun"
  std::string program;
  std::vector<std::string> arguments;          ///< argv
  std::vector<std::string> environment;        ///< "NAME=value"
  std::shared_ptr<const UniqueFd> input = {};  ///< its stdin; null = the agent's
};

/// What one attempt adds.
struct AttemptFacts {
  int attempt = 0;
  Address master;
  std::optional<JobLauncher> launcher = {};  ///< of MPI, on the node that starts it
};

class WorkerPlan {
 public:
  /// Borrows `options`, `environment` and `setup` for its life. `node` is the host's name, for
  /// prefixes. Errors: kOs no interpreter, kConfig no such device or an impossible binding; all
  /// before anything is started.
  static Result<WorkerPlan> make(const Files& files, const Options& options,
                                 const Environment& environment, const ProcessSetup& setup,
                                 std::string node, std::string token);

  /// For the attempts that follow.
  void set_place(const NodePlace& place);
  [[nodiscard]] int local_world_size() const { return local_world_size_; }
  [[nodiscard]] int world_size() const { return place_.world_size; }
  [[nodiscard]] int node_count() const { return place_.node_count; }
  [[nodiscard]] int node_rank() const { return place_.node_rank; }
  /// How many processes this node itself starts: its workers, unless a launcher starts them.
  [[nodiscard]] int processes(const AttemptFacts& attempt) const;
  [[nodiscard]] int rank_of(int local_rank) const { return place_.rank_offset + local_rank; }
  [[nodiscard]] std::vector<WorkerLabel> labels() const;
  /// What each worker runs.
  [[nodiscard]] const WorkerCommand& command() const { return command_; }
  /// What was asked for, for people: "train.py".
  [[nodiscard]] const std::string& entry_point() const { return options_->program; }
  /// Lines worth telling once before the first attempt: the worker count's reason, bindings,
  /// OMP_NUM_THREADS.
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  /// What Output must know.
  [[nodiscard]] OutputOptions output_options() const;
  /// One worker's start. `streams` are borrowed by the result. Errors: pytorch_environment().
  [[nodiscard]] Result<SpawnRequest> request(int local_rank, const AttemptFacts& attempt,
                                             const ChildStreams& streams,
                                             const std::string& error_file) const;

 private:
  WorkerPlan(const Options& options, const Environment& environment, const ProcessSetup& setup)
      : options_(&options), environment_(&environment), setup_(&setup) {}
  Status count_workers(const Files& files);
  [[nodiscard]] RoundFacts facts(int local_rank, const AttemptFacts& attempt) const;
  [[nodiscard]] SpawnRequest common_request(const ChildStreams& streams) const;
  [[nodiscard]] std::string signals_to_handle() const;

  const Options* options_;
  const Environment* environment_;
  const ProcessSetup* setup_;
  std::string node_;
  std::string token_;
  int local_world_size_ = 1;
  NodePlace place_;
  WorkerCommand command_;
  std::optional<std::string> log_dir_;  // absolute; none = temporary
  std::vector<CpuSet> bindings_;        // by local rank; empty = none asked for
  std::vector<std::string> notices_;
};

}  // namespace muster::launcher
