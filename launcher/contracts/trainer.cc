#include "launcher/contracts/trainer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/contracts/mounted_key.h"
#include "launcher/contracts/operator_hostfile.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/visible_devices.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kIndex = "JOB_COMPLETION_INDEX";
constexpr std::string_view kLauncherSuffix = "-launcher-0-0";
constexpr std::string_view kNodeInfix = "-node-0-";
constexpr std::string_view kFirstSuffix = "-node-0-0";
constexpr std::string_view kHostfileVariable = "OMPI_MCA_orte_default_hostfile";

// What the other runtimes set in the same pods; ranks are those of nodes.
struct Runtime {
  std::string_view framework;  // "" = whatever is started
  std::string_view rank;
  std::string_view address;  // JOB-node-0-0.SUBDOMAIN, with a port where there is no `port`
  std::string_view port;
  std::string_view size;
};
constexpr Runtime kTorch = {"", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
                            "PET_NNODES"};
constexpr Runtime kJax = {"jax", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS", "",
                          "JAX_NUM_PROCESSES"};
constexpr Runtime kXgboost = {"xgboost", "DMLC_TASK_ID", "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT",
                              "DMLC_NUM_WORKER"};

// Its first node; none: the variables are not those of `runtime`.
std::optional<HostPort> first_node(const PodFacts& pod, const Runtime& runtime) {
  HostPort first = split_host_port(text_of(pod, runtime.address));
  const auto label = first_label(first.host);
  const bool is_first = label.ends_with(kFirstSuffix) && label.size() > kFirstSuffix.size() &&
                        label.size() < first.host.size();
  if (!is_first || !number_of(pod, runtime.rank) || !node_count_of(pod, runtime.size))
    return std::nullopt;
  if (!runtime.port.empty()) first.port = split_host_port(":" + text_of(pod, runtime.port)).port;
  return first;
}

constexpr std::string_view kGrantedGpus = "NVIDIA_VISIBLE_DEVICES";

// Those that the pod asked for, which DMLC_NUM_WORKER counts for each node: the device plugin lists
// them, or makes their devices. None: not to be told.
std::optional<int> granted_gpus(const PodFacts& pod) {
  for (const std::string_view name : {kGrantedGpus, std::string_view("CUDA_VISIBLE_DEVICES")}) {
    const auto listed = nccl::parse_visible_devices(text_of(pod, name));
    if (!listed.empty()) return static_cast<int>(listed.size());
  }
  const auto devices = nccl::discover_accelerators(pod.files);
  const auto seen = std::ranges::count_if(devices, [](const nccl::Accelerator& device) {
    return device.kind == nccl::AcceleratorKind::kNvidia && device.accessible;
  });
  // Images say "all", and show those of the machine to pods that asked for none.
  if (seen > 1 && text_of(pod, kGrantedGpus) == "all") return std::nullopt;
  return static_cast<int>(seen);
}

// JOB-node-0-N of the same subdomain. `workers_per_node` none: not to be told.
std::optional<Contract> read_nodes(const PodFacts& pod, const Runtime& runtime,
                                   std::optional<int> workers_per_node) {
  const auto first = first_node(pod, runtime);
  if (!first) return std::nullopt;
  Contract contract;
  contract.controller = "Trainer";
  const std::string label(first_label(first->host));
  contract.job = label.substr(0, label.size() - kFirstSuffix.size());
  contract.absorbed = {flag::kMasterAddr, flag::kMasterPort};
  if (!runtime.framework.empty())
    say(contract, flag::kFramework, std::string(runtime.framework), runtime.address);
  const int size = *node_count_of(pod, runtime.size);
  const int rank = *number_of(pod, runtime.rank);
  // A rank beyond the nodes of several workers: not all have as many as this one.
  const bool is_told = workers_per_node && size % *workers_per_node == 0 &&
                       (*workers_per_node == 1 || rank < size / *workers_per_node);
  if (!is_told) {
    lack(contract, flag::kNnodes,
         std::string(runtime.size) + " " + std::to_string(size) +
             " counts the GPUs of all nodes, " +
             (workers_per_node
                  ? "and node " + std::to_string(rank) + " has " + std::to_string(*workers_per_node)
                  : "and " + std::string(kGrantedGpus) +
                        "=all does not say how many are this one's"));
    say(contract, flag::kNodeRank, std::to_string(rank), runtime.rank);
    say(contract, flag::kRdzvEndpoint, endpoint_of(first->host, first->port), runtime.address);
    return contract;
  }
  const int nodes = size / *workers_per_node;
  say_rank(contract, rank, nodes, runtime.rank);
  std::vector<std::string> hosts;
  for (int node = 0; node < nodes; ++node)
    hosts.push_back(sibling_of(first->host, contract.job + "-node-0-" + std::to_string(node)));
  say_hosts(contract, hosts, first->port,
            std::string(runtime.size) + " and " + std::string(runtime.address));
  return contract;
}

}  // namespace

std::optional<Contract> read_trainer_mpi(const PodFacts& pod) {
  const Environment& environment = pod.environment;
  const bool is_other = environment.has(kTorch.rank) || environment.has(kJax.address) ||
                        environment.has(kXgboost.address);
  if (!environment.has(kIndex) || is_other) return std::nullopt;
  const std::string_view label = first_label(pod.host_name);
  Contract contract;
  contract.controller = "Trainer";
  contract.secret_file = find_mounted_key(pod.files);
  if (label.ends_with(kLauncherSuffix) && environment.has(kHostfileVariable)) {
    contract.job = std::string(label.substr(0, label.size() - kLauncherSuffix.size()));
    say(contract, flag::kFramework, "mpi", kHostfileVariable);
    return with_operator_hostfile(std::move(contract), pod);
  }
  const size_t infix = label.rfind(kNodeInfix);
  const bool is_node = infix != std::string_view::npos && infix > 0;
  if (!is_node || contract.secret_file.empty()) return std::nullopt;
  const std::string source = contract_source(contract, "own name and " + contract.secret_file);
  contract.job = std::string(label.substr(0, infix));
  const std::string launcher = contract.job + std::string(kLauncherSuffix);
  contract.values.push_back({flag::kFramework, "mpi", source});
  contract.values.push_back({flag::kMpiRole, "worker", source});
  say(contract, flag::kRdzvEndpoint, sibling_of(own_full_name(pod), launcher), "own name");
  return contract;
}

std::optional<Contract> read_trainer_torch(const PodFacts& pod) {
  return read_nodes(pod, kTorch, 1);
}

std::optional<Contract> read_trainer_jax(const PodFacts& pod) { return read_nodes(pod, kJax, 1); }

std::optional<Contract> read_trainer_xgboost(const PodFacts& pod) {
  if (!first_node(pod, kXgboost)) return std::nullopt;  // devices take a millisecond to read
  const auto gpus = granted_gpus(pod);
  auto contract = read_nodes(pod, kXgboost, gpus ? std::optional(std::max(*gpus, 1)) : gpus);
  if (contract && gpus.value_or(0) > 0)
    say(*contract, flag::kNprocPerNode, std::to_string(*gpus), "GPUs of the pod");
  return contract;
}

}  // namespace muster::launcher
