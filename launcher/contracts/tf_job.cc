#include "launcher/contracts/tf_job.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kConfig = "TF_CONFIG";

// What the operator calls them, in the order of ranks, and what --roles does.
struct Type {
  const char* name;
  std::string_view role;
};
constexpr Type kTypes[] = {{"chief", "chief"},
                           {"master", "chief"},
                           {"worker", "worker"},
                           {"ps", "ps"},
                           {"evaluator", "evaluator"}};

struct Task {
  std::string type;
  int index = -1;  // -1: no number
};

// An index is a number; users write a text as well.
Task own_task(const json& config) {
  const json task = config.value("task", json::object());
  if (!task.is_object()) return {};
  Task own;
  if (const auto type = task.find("type"); type != task.end() && type->is_string())
    own.type = type->get<std::string>();
  const auto index = task.find("index");
  if (index == task.end()) return own;
  const std::string text = index->is_string() ? index->get<std::string>() : index->dump();
  own.index = plain_number(text).value_or(-1);
  return own;
}

// "HOST:PORT" each; empty: there is none of them, or they are no list.
std::vector<std::string> hosts_of(const json& cluster, const char* type) {
  std::vector<std::string> hosts;
  const auto entries = cluster.find(type);
  if (entries == cluster.end() || !entries->is_array()) return hosts;
  for (const json& entry : *entries)
    hosts.push_back(entry.is_string() ? split_host_port(entry.get<std::string>()).host : "");
  return hosts;
}

// Workers that come and go are told of the servers and of themselves alone.
bool is_sparse(const json& cluster) {
  const auto workers = cluster.find("worker");
  return workers != cluster.end() && workers->is_object();
}

// TensorFlow knows the form too: the pod's name says whose it is.
std::optional<Contract> dynamic(Contract contract, const std::string& own_type,
                                const PodFacts& pod) {
  const auto own = replica_name(own_pod_name(pod), own_type);
  if (!own) return std::nullopt;
  contract.job = own->stem;
  lack(contract, flag::kNnodes,
       std::string(kConfig) + " of a job with enableDynamicWorker does not list the workers");
  return contract;
}

Contract read_cluster(Contract contract, const json& cluster, const Task& own) {
  std::vector<std::string> roles;
  std::string leader;
  int rank = -1;
  for (const Type& type : kTypes) {
    const auto hosts = hosts_of(cluster, type.name);
    if (hosts.empty()) continue;
    const auto index = static_cast<size_t>(own.index);
    if (own.type == type.name && own.index >= 0 && index < hosts.size()) {
      rank = static_cast<int>(contract.hosts.size() + index);
      const auto name = replica_name(first_label(hosts[index]), own.type);
      if (name && name->number == own.index) contract.job = name->stem;
    }
    if (leader.empty()) leader = hosts.front();
    roles.push_back(std::string(type.role) + "=" + std::to_string(hosts.size()));
    for (const std::string& host : hosts) contract.hosts.push_back({.host = host, .slots = 1});
  }
  say(contract, flag::kFramework, "tensorflow", kConfig);
  say(contract, flag::kRoles, join(roles, ","), kConfig);
  say(contract, flag::kNnodes, std::to_string(contract.hosts.size()), kConfig);
  say(contract, flag::kNprocPerNode, "1", kConfig);
  // It decides when the job has ended. The port of its entry is TensorFlow's.
  say(contract, flag::kRdzvEndpoint, leader, kConfig);
  if (rank >= 0) {
    say(contract, flag::kNodeRank, std::to_string(rank), kConfig);
  } else {
    contradict(contract, flag::kNodeRank,
               std::string(kConfig) + " does not list its own task, " + quote_if_needed(own.type) +
                   " " + std::to_string(own.index));
  }
  return contract;
}

}  // namespace

std::optional<Contract> read_volcano_tensorflow(const PodFacts& pod) {
  const auto config = parse_json(text_of(pod, kConfig));
  if (!config || !config->is_object()) return std::nullopt;
  const auto cluster = config->find("cluster");
  const bool is_volcanos = pod.environment.has("VC_TASK_INDEX") || pod.files.exists("/etc/volcano");
  if (!is_volcanos || cluster == config->end() || !cluster->is_object()) return std::nullopt;
  Contract contract;
  contract.controller = "Volcano";
  if (is_sparse(*cluster)) {
    lack(contract, flag::kNnodes,
         std::string(kConfig) + " of a sparse cluster does not list the workers");
    return contract;
  }
  contract = read_cluster(std::move(contract), *cluster, own_task(*config));
  return contract.hosts.empty() ? std::nullopt : std::optional(std::move(contract));
}

std::optional<Contract> read_tf_job(const PodFacts& pod) {
  const auto config = parse_json(text_of(pod, kConfig));
  if (!config || !config->is_object()) return std::nullopt;
  const auto cluster = config->find("cluster");
  if (cluster == config->end() || !cluster->is_object()) return std::nullopt;
  const Task own = own_task(*config);
  Contract contract;
  contract.controller = "TFJob";
  if (is_sparse(*cluster)) return dynamic(std::move(contract), own.type, pod);
  const auto environment = config->find("environment");
  if (environment == config->end() || *environment != "cloud") return std::nullopt;
  contract = read_cluster(std::move(contract), *cluster, own);
  // Others than the operator have written "cloud", too.
  const bool is_operators = !contract.job.empty() || said(contract, flag::kNodeRank).empty();
  return is_operators && !contract.hosts.empty() ? std::optional(std::move(contract))
                                                 : std::nullopt;
}

}  // namespace muster::launcher
