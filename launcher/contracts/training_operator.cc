#include "launcher/contracts/training_operator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kMasterAddr = "MASTER_ADDR";
constexpr std::string_view kMasterPort = "MASTER_PORT";
constexpr std::string_view kRank = "RANK";
constexpr std::string_view kNodeRank = "PET_NODE_RANK";
constexpr std::string_view kWorldSize = "WORLD_SIZE";
constexpr std::string_view kNodes = "PET_NNODES";
constexpr std::string_view kEndpoint = "PET_RDZV_ENDPOINT";
constexpr std::string_view kXgboostWorkers = "WORKER_ADDRS";  // of an XGBoostJob of several pods
constexpr std::string_view kWorker = "worker";
constexpr int kPytorchPort = 23456;  // of the container, unless its port is declared

// JOB-worker-0 and so on, who are alike. On the host network pods are called otherwise: who has
// joined cannot be told from the list then.
void say_workers(Contract& contract, int nodes, int port, std::string_view what,
                 const PodFacts& pod) {
  std::vector<std::string> hosts;
  for (int index = 0; index < nodes; ++index)
    hosts.push_back(contract.job + "-worker-" + std::to_string(index));
  say_hosts(contract, hosts, port, what);
  if (!replica_name(own_pod_name(pod), kWorker)) contract.hosts.clear();
}

// Of the kinds with a master. None: `master` is not JOB-master-0, or a word is missing.
std::optional<Contract> with_master(const PodFacts& pod, std::string controller,
                                    const std::string& master) {
  const auto job = replica_name(master, "master");
  if (!job || job->number != 0 || !number_of(pod, kRank) || !number_of(pod, kWorldSize))
    return std::nullopt;
  Contract contract;
  contract.controller = std::move(controller);
  contract.job = job->stem;
  // The job has ended when the master's pod has: nobody else need lead.
  const int port = split_host_port(":" + text_of(pod, kMasterPort)).port;
  const std::string elastic = text_of(pod, kEndpoint);
  say(contract, flag::kRdzvEndpoint, elastic.empty() ? endpoint_of(master, port) : elastic,
      elastic.empty() ? kMasterAddr : kEndpoint);
  contract.absorbed = {flag::kMasterAddr, flag::kMasterPort};
  return contract;
}

// WORLD_SIZE counts the workers of all nodes here, as far as the operator knows them.
std::optional<Contract> pytorch_with_master(const PodFacts& pod, const NodeRange& nodes) {
  auto contract = with_master(pod, "PyTorchJob", text_of(pod, kMasterAddr));
  if (!contract) return contract;
  // An elastic policy may have more pods than nodes that count; the rank orders them only.
  const bool is_elastic = pod.environment.has(kEndpoint);
  if (is_elastic) {
    say(*contract, flag::kNodeRank, text_of(pod, kRank), kRank);
  } else {
    say_rank(*contract, *number_of(pod, kRank), nodes.max, kRank);
  }
  // The operator sets both to the same.
  if (const auto same = number_of(pod, kNodeRank); same && *same != *number_of(pod, kRank))
    contradict(*contract, flag::kNodeRank,
               std::string(kRank) + " is " + text_of(pod, kRank) + ", and " +
                   std::string(kNodeRank) + " " + text_of(pod, kNodeRank));
  const int workers = *number_of(pod, kWorldSize);
  const bool is_fixed = nodes.min == nodes.max && !is_elastic;
  if (is_fixed && (workers == 0 || workers % nodes.max != 0))
    contradict(*contract, flag::kNnodes,
               std::string(kNodes) + " is " + std::to_string(nodes.max) + ", and " +
                   std::string(kWorldSize) + " " + std::to_string(workers) +
                   " does not divide by it");
  return contract;
}

std::optional<Contract> pytorch_elastic(const PodFacts& pod) {
  const std::string endpoint = text_of(pod, kEndpoint);
  const auto first = replica_name(split_host_port(endpoint).host, kWorker);
  if (!first || first->number != 0 || pod.environment.has(kNodeRank)) return std::nullopt;
  Contract contract;
  contract.controller = "PyTorchJob";
  contract.job = first->stem;
  say(contract, flag::kRdzvEndpoint, endpoint, kEndpoint);
  return contract;
}

// Others whose pods are called so have PET_NNODES from their users.
std::optional<Contract> pytorch_of_workers(const PodFacts& pod, const NodeRange& nodes) {
  const Environment& environment = pod.environment;
  const auto own = replica_name(own_pod_name(pod), kWorker);
  const bool set = environment.has(kEndpoint) || environment.has("PET_MASTER_ADDR");
  const bool is_operators = in_kubernetes(pod) && environment.has("PYTHONUNBUFFERED");
  if (!own || set || !is_operators || nodes.min != nodes.max) return std::nullopt;
  Contract contract;
  contract.controller = "PyTorchJob";
  contract.job = own->stem;
  say_rank(contract, own->number, nodes.max, "own name");
  say_workers(contract, nodes.max, kPytorchPort, "PET_NNODES and own name", pod);
  return contract;
}

// KubeDL sets no PET_NNODES, and WORLD_SIZE counts pods. Its XGBoostJobs differ by the port alone.
std::optional<Contract> pytorch_of_kubedl(const PodFacts& pod) {
  constexpr int kXgboostPort = 9999;
  const auto nodes = node_count_of(pod, kWorldSize);
  const bool is_other = pod.environment.has_any("PET_") || pod.environment.has(kXgboostWorkers) ||
                        number_of(pod, kMasterPort) == kXgboostPort;
  if (!in_kubernetes(pod) || is_other || !nodes || *nodes == 1) return std::nullopt;
  const std::string address = text_of(pod, kMasterAddr);
  // The master's pod is told no more than that of itself.
  auto contract =
      with_master(pod, "PyTorchJob", address == "localhost" ? own_pod_name(pod) : address);
  if (!contract) return contract;
  contract->recognised_by = "MASTER_ADDR=JOB-master-0 without PET_NNODES, as KubeDL says it";
  say(*contract, flag::kNnodes, std::to_string(*nodes), kWorldSize);
  say_rank(*contract, *number_of(pod, kRank), *nodes, kRank);
  return contract;
}

}  // namespace

std::optional<Contract> read_pytorch_job(const PodFacts& pod) {
  if (auto contract = pytorch_of_kubedl(pod)) return contract;
  const std::string size = text_of(pod, kNodes);
  const auto nodes = parse_node_range(size);
  // The pods of other controllers may have PET_NNODES from their users.
  if (!nodes || pod.environment.has("JOB_COMPLETION_INDEX")) return std::nullopt;
  auto contract = pytorch_with_master(pod, *nodes);
  if (!contract) contract = pytorch_elastic(pod);
  if (!contract) contract = pytorch_of_workers(pod, *nodes);
  if (contract && said(*contract, flag::kNnodes).empty())
    say(*contract, flag::kNnodes, size, kNodes);
  return contract;
}

std::optional<Contract> read_xgboost_job(const PodFacts& pod) {
  const auto nodes = node_count_of(pod, kWorldSize);
  if (!nodes || pod.environment.has_any("PET_")) return std::nullopt;
  auto contract = with_master(pod, "XGBoostJob", text_of(pod, kMasterAddr));
  if (!contract) return contract;
  say(*contract, flag::kFramework, "xgboost", kMasterAddr);
  say(*contract, flag::kNnodes, std::to_string(*nodes), kWorldSize);
  say_rank(*contract, *number_of(pod, kRank), *nodes, kRank);
  return contract;
}

// The pod that PADDLE_MASTER means has its own address there, and everybody else its name.
std::optional<Contract> read_paddle_job(const PodFacts& pod) {
  constexpr std::string_view kJob = "PADDLE_JOB_ID";
  constexpr std::string_view kMaster = "PADDLE_MASTER";
  constexpr std::string_view kPaddleNodes = "PADDLE_NNODES";
  const auto nodes = node_count_of(pod, kPaddleNodes);
  Contract contract;
  contract.controller = "PaddleJob";
  contract.job = text_of(pod, kJob);
  if (contract.job.empty() || !nodes || !pod.environment.has(kMaster)) return std::nullopt;
  for (const char* name : {"PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"}) {
    if (!pod.environment.has(name)) continue;
    lack(contract, flag::kFramework,
         std::string(name) + " is for a job of parameter servers, whose programs find each other",
         kGiveNoContract);
    return contract;
  }
  say(contract, flag::kFramework, "paddle", kMaster);
  const auto own = replica_name(own_pod_name(pod), kWorker);
  if (own && own->stem == contract.job) {
    say_rank(contract, own->number, *nodes, "own name");
  } else {
    lack(contract, flag::kNodeRank,
         "the host name '" + pod.host_name + "' is not " + contract.job + "-worker-N");
  }
  const std::string master = text_of(pod, kMaster);  // its address may have colons
  const int port = split_host_port(master.substr(std::min(master.rfind(':'), master.size()))).port;
  say_workers(contract, *nodes, port, kPaddleNodes, pod);
  return contract;
}

// COORDINATOR_PORT is left to JAX: programs read it, and process 0 listens there.
std::optional<Contract> read_jax_job(const PodFacts& pod) {
  constexpr std::string_view kCoordinator = "COORDINATOR_ADDRESS";
  constexpr std::string_view kProcesses = "NUM_PROCESSES";
  constexpr std::string_view kProcess = "PROCESS_ID";
  const auto first = replica_name(text_of(pod, kCoordinator), kWorker);
  const auto nodes = node_count_of(pod, kProcesses);
  const auto rank = number_of(pod, kProcess);
  if (!first || first->number != 0 || !nodes || !rank) return std::nullopt;
  Contract contract;
  contract.controller = "JAXJob";
  contract.job = first->stem;
  say(contract, flag::kFramework, "jax", kCoordinator);
  say_rank(contract, *rank, *nodes, kProcess);
  say_workers(contract, *nodes, 0, kProcesses, pod);
  return contract;
}

}  // namespace muster::launcher
