// Contract: what the controller that made this pod says of it and of its job, in variables, files
// and names. It stands for flags that nobody gave. One file per controller reads it; here is what
// they have in common. Used by command_line.h; what is left of it at run time, by NodeAgent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/result.h"
#include "launcher/options/flags.h"
#include "mpi/launch/hostfile.h"

namespace muster::launcher {

/// What a contract is read from; all borrowed.
struct PodFacts {
  const Environment& environment;
  const Files& files;
  std::string host_name;  ///< as gethostname() says
};

/// A flag that the contract stands for. `source`: "mpi-operator: /etc/mpi/hostfile".
struct ContractValue {
  Flag flag;
  std::string text;
  std::string source;
};
/// A flag that it should stand for and cannot; must then be given. `problem` says why, in one line.
struct ContractGap {
  Flag flag;
  std::string problem;
};

struct Contract {
  std::string_view controller;  ///< "mpi-operator"
  std::string job = {};         ///< what it calls the job; "" = unknown
  std::vector<ContractValue> values;
  std::vector<ContractGap> gaps;
  /// The nodes with ranks and their slots, where the controller says them; by name as it writes it.
  std::vector<mpi::HostSlots> hosts;
  bool says_slots = true;  ///< false: the slots of `hosts` mean nothing
  std::string hostfile;    ///< where `hosts` came from, read again while the job runs; "" = nowhere
  mpi::Implementation format = mpi::Implementation::kOpenMpi;  ///< of the hostfile
  std::string secret_file;  ///< the same secret in every pod of this job and in no other; "" = none
  /// Variables that are for the controller's own way to start MPI, which must not reach ours.
  std::vector<std::string> scrubbed;
};

/// For which jobs a contract counts. A pod of an MPIJob may run anything; its contract means MPI.
enum class ContractOf { kMpiJobs, kAllJobs };

/// The contract of this pod, by the first that recognises it; none = no controller known here, or
/// this process is a rank that an MPI started already. The order: mpi-operator, Trainer, Volcano
/// (who leaves the clearest mark comes first). `jobs`: kAllJobs leaves out those of MPI alone.
[[nodiscard]] std::optional<Contract> read_contract(const PodFacts& pod,
                                                    ContractOf jobs = ContractOf::kMpiJobs);

/// Adds its values to flags that neither the command line nor a variable gave.
/// kConfig: a gap that they leave open.
Result<RawFlags> apply_contract(RawFlags raw, const Contract& contract);

/// What the agent and all it starts shall see otherwise than the pod: nothing of what is scrubbed,
/// and the secret, unless there is another.
[[nodiscard]] std::vector<PlannedVariable> contract_variables(const Contract& contract);
/// The pod's environment with these.
[[nodiscard]] Environment contract_environment(const Contract& contract, const Environment& pod);

/// `controller` + ": " + `what`, for sources.
[[nodiscard]] std::string contract_source(const Contract& contract, std::string_view what);
/// The own name as /etc/hosts has it, in full where it does ("pi-worker-0.pi.default.svc").
[[nodiscard]] std::string own_full_name(const PodFacts& pod);
/// `full` with another first label: "pi-launcher.pi.default.svc".
[[nodiscard]] std::string sibling_of(std::string_view full, std::string_view label);

}  // namespace muster::launcher
