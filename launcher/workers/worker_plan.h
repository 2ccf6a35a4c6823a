// WorkerPlan: all that is known before an attempt about the workers of this node: how many, which
// command, which CPUs; and from it the SpawnRequest of each. Reads the machine once, in make();
// after that it is pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/process.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/frameworks/worker_network.h"
#include "launcher/output/output.h"
#include "launcher/workers/numa_binding.h"
#include "launcher/workers/worker_command.h"
#include "nccl/plan/fabric_plan.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

class WorkerPlan {
 public:
  /// Borrows `context` for its life. The program and --fabric-profile are looked for in
  /// `files`, the hardware in `machine`. Errors: kOs no interpreter, kConfig no such device, an
  /// impossible binding or a wrong --fabric-profile; all before anything is started.
  static Result<WorkerPlan> make(const Files& files, const AgentContext& context,
                                 const FrameworkNeeds& needs, const nccl::MachineView& machine);
  /// On this machine.
  static Result<WorkerPlan> make(const Files& files, const AgentContext& context,
                                 const FrameworkNeeds& needs) {
    return make(files, context, needs, {files});
  }

  /// A round of this node alone. `world_size` 0: as many workers as it has.
  [[nodiscard]] rendezvous::Assign alone(int world_size = 0) const;
  /// For the attempts that follow; alone() before.
  void set_round(rendezvous::Assign round, WorkerNetwork network = {});
  [[nodiscard]] const rendezvous::Assign& round() const { return round_; }
  [[nodiscard]] int local_world_size() const { return local_world_size_; }
  /// One process starts the workers of all nodes, and on most nodes it is not there.
  [[nodiscard]] bool has_launcher() const { return needs_.launcher; }
  [[nodiscard]] int rank_of(int local_rank) const { return round_.rank_offset + local_rank; }
  [[nodiscard]] std::vector<WorkerLabel> labels() const;
  /// What each worker runs.
  [[nodiscard]] const WorkerCommand& command() const { return command_; }
  /// The same for people: command_without_arguments().
  [[nodiscard]] std::string command_line() const;
  /// What was asked for, for people: "train.py".
  [[nodiscard]] const std::string& entry_point() const { return context_->options.program; }
  /// Lines worth telling once before the first attempt: the worker count's reason, bindings,
  /// OMP_NUM_THREADS.
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  /// What is planned for the network of round(); null with --no-fabric-env, and for a node on which
  /// no agent has a say about workers.
  [[nodiscard]] const nccl::FabricPlan* fabric() const { return fabric_ ? &fabric_plan_ : nullptr; }

  /// Its variables.
  [[nodiscard]] std::vector<PlannedVariable> network_variables() const;

  /// The same, if it is not what this gave last; else null.
  [[nodiscard]] const nccl::FabricPlan* fabric_news();

  /// What Output must know.
  [[nodiscard]] OutputOptions output_options() const;
  /// PyTorch's variables of one worker in round(), and those of its network libraries. Errors:
  /// pytorch_plan().
  [[nodiscard]] Result<EnvironmentPlan> environment(int local_rank,
                                                    const std::string& error_file) const;
  /// One worker's start, with these variables. `streams` are borrowed by the result.
  [[nodiscard]] Result<WorkerStart> start(int local_rank, const ChildStreams& streams,
                                          const std::string& error_file) const;
  /// The start of what starts the workers of all nodes. Both are borrowed by the result.
  [[nodiscard]] SpawnRequest start(const JobLauncher& launcher, const ChildStreams& streams) const;

 private:
  WorkerPlan(const AgentContext& context, const FrameworkNeeds& needs)
      : context_(&context), needs_(needs) {}
  Status count_workers(const Files& files);
  Status read_fabric(const Files& files, const nccl::MachineView& machine);
  [[nodiscard]] RoundFacts facts(int local_rank) const;
  [[nodiscard]] SpawnRequest common_request(const ChildStreams& streams) const;
  [[nodiscard]] std::string signals_to_handle() const;

  const AgentContext* context_;
  FrameworkNeeds needs_;
  int local_world_size_ = 1;
  rendezvous::Assign round_;
  WorkerNetwork network_;  // of round_
  WorkerCommand command_;
  std::optional<std::string> log_dir_;  // absolute; none = temporary
  std::vector<CpuSet> bindings_;        // by local rank; empty = none asked for
  std::optional<nccl::FabricFacts> fabric_;
  bool is_recorded_ = false;      // whoever asks about another machine asks for several nodes
  nccl::FabricPlan fabric_plan_;  // of round_
  std::string fabric_told_;       // by fabric_news()
  std::vector<std::string> notices_;
};

}  // namespace muster::launcher
