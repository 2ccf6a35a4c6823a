#include "launcher/contracts/operator_hostfile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

using mpi::Implementation;

// Which of these is set is the only word about the implementation (mpi-operator 0.8: spec
// .mpiImplementation; Trainer 2.3: Open MPI alone).
struct HostfileVariable {
  std::string_view name;
  Implementation implementation;
  std::string_view word;  // of --mpi
};
constexpr HostfileVariable kVariables[] = {
    {"OMPI_MCA_orte_default_hostfile", Implementation::kOpenMpi, "openmpi"},
    {"I_MPI_HYDRA_HOST_FILE", Implementation::kIntelMpi, "intel"},
    {"HYDRA_HOST_FILE", Implementation::kMpich, "mpich"},
};

// Intel MPI's would override the slots of the round's hostfile.
constexpr std::string_view kSlotsVariable = "I_MPI_PERHOST";
// Set to nothing in a launcher's pod without ranks. Hydra hands them to the ranks of all pods.
constexpr std::string_view kNoDevices[] = {"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"};

// JOB-launcher of mpi-operator, JOB-launcher-0-0 of Trainer. A launcher's pod on the host network
// has another name, and no worker has such a one.
bool is_launcher(std::string_view host) {
  const std::string_view label = first_label(host);
  return label.ends_with("-launcher") || label.ends_with("-launcher-0-0");
}

void scrub(Contract& contract, const Environment& environment) {
  const auto drop = [&contract](std::string_view name) { contract.scrubbed.emplace_back(name); };
  for (const auto& variable : kVariables) {
    if (environment.get(variable.name) == contract.hostfile) drop(variable.name);
  }
  if (environment.has(kSlotsVariable)) drop(kSlotsVariable);
  for (const std::string_view name : kNoDevices) {
    if (environment.get(name) == "") drop(name);
  }
}

}  // namespace

// Checked as for a hostfile of our own.
Result<std::vector<mpi::HostSlots>> read_operator_hostfile(const Files& files,
                                                           const Contract& contract) {
  auto text = files.read(contract.hostfile, mpi::kMaxHostfileBytes);
  if (!text) return std::move(text).error();
  auto hosts = mpi::parse_hostfile(contract.format, *text);
  if (!hosts) return std::move(hosts).error().with_context(contract.hostfile);
  auto written = mpi::write_hostfile(contract.format, *hosts);
  if (!written) return std::move(written).error().with_context(contract.hostfile);
  return hosts;
}

Contract with_operator_hostfile(Contract contract, const PodFacts& pod) {
  contract.hostfile = kOperatorHostfile;
  for (const auto& variable : kVariables) {
    const auto path = pod.environment.get(variable.name);
    if (!path || path->empty()) continue;
    contract.hostfile = *path;
    contract.format = variable.implementation;
    say(contract, flag::kMpi, std::string(variable.word), variable.name);
    break;
  }
  scrub(contract, pod.environment);
  const std::string source = contract_source(contract, contract.hostfile);
  auto hosts = read_operator_hostfile(pod.files, contract);
  if (!hosts) {
    contract.values.push_back({flag::kMpiRole, "launcher", source});
    lack(contract, flag::kNnodes, hosts.error().text);
    return contract;
  }
  const auto own = std::find_if(hosts->begin(), hosts->end(), [&pod](const auto& host) {
    return first_label(host.host) == first_label(pod.host_name) || is_launcher(host.host);
  });
  const bool has_ranks = own != hosts->end();
  contract.values.push_back({flag::kMpiRole, has_ranks ? "launcher-worker" : "launcher", source});
  contract.values.push_back({flag::kNnodes, std::to_string(hosts->size()), source});
  if (has_ranks)
    contract.values.push_back({flag::kNprocPerNode, std::to_string(own->slots), source});
  contract.values.push_back({flag::kRdzvEndpoint, own_full_name(pod), "own name"});
  contract.hosts = std::move(*hosts);
  contract.says_slots = true;
  return contract;
}

}  // namespace muster::launcher
