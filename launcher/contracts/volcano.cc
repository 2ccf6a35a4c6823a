#include "launcher/contracts/volcano.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/mounted_key.h"

namespace muster::launcher {

namespace {

constexpr const char* kFolder = "/etc/volcano";
constexpr std::string_view kFileSuffix = ".host";
constexpr std::string_view kListPrefix = "VC_";
constexpr std::string_view kListSuffix = "_HOSTS";
constexpr std::string_view kWorkersOfMpi = "MPI_HOST";
// Of the plugin pytorch; they count nodes.
constexpr std::string_view kMasterAddr = "MASTER_ADDR";
constexpr std::string_view kMasterPort = "MASTER_PORT";
constexpr std::string_view kRank = "RANK";
constexpr std::string_view kWorldSize = "WORLD_SIZE";
constexpr std::string_view kLauncherWords[] = {"master", "launcher"};

using Hosts = std::vector<std::string>;

struct Task {
  Hosts hosts;
  std::string source;  // variable or path
  std::string path;    // "" = a variable, which never changes
};
using Tasks = std::map<std::string, Task>;  // by name as in the file's: "mpi_worker"

Hosts hosts_in(std::string_view text, char separator) {
  Hosts hosts;
  for (const std::string_view word : split(text, separator)) {
    if (!trim(word).empty()) hosts.emplace_back(trim(word));
  }
  return hosts;
}

// The files say what is wanted now, the variables what was when the pod began; one may be missing
// (svc --inject-hosts-env=false).
Tasks read_tasks(const PodFacts& pod) {
  Tasks tasks;
  const auto add = [&tasks](const std::string& name, const Task& task) {
    if (!task.hosts.empty() && tasks.size() < kMaxVolcanoTasks) tasks.try_emplace(name, task);
  };
  const auto files = pod.files.list(kFolder);
  for (const std::string& file : files ? *files : std::vector<std::string>{}) {
    if (!file.ends_with(kFileSuffix)) continue;
    const std::string path = std::string(kFolder) + "/" + file;
    const auto text = pod.files.read(path, kMaxVolcanoListBytes);
    if (!text) continue;  // the variable says the same
    add(file.substr(0, file.size() - kFileSuffix.size()), {hosts_in(*text, '\n'), path, path});
  }
  for (const auto& [name, value] : pod.environment.variables()) {
    if (!name.starts_with(kListPrefix) || !name.ends_with(kListSuffix)) continue;
    if (name.size() <= kListPrefix.size() + kListSuffix.size()) continue;
    const std::string task =
        name.substr(kListPrefix.size(), name.size() - kListPrefix.size() - kListSuffix.size());
    add(to_lower(task), {hosts_in(value, ','), name, ""});
  }
  return tasks;
}

bool lists(const Hosts& hosts, const PodFacts& pod) {
  return std::any_of(hosts.begin(), hosts.end(), [&pod](const std::string& host) {
    return first_label(host) == first_label(pod.host_name);
  });
}

const Task* launcher_task(const Tasks& tasks) {
  for (const auto& [name, task] : tasks) {
    for (const std::string_view word : kLauncherWords) {
      if (name.find(word) != std::string::npos && task.hosts.size() == 1) return &task;
    }
  }
  return nullptr;
}

// Of tasks whose lists may change the launcher follows one; the others are as they were.
Contract as_launcher(Contract contract, const PodFacts& pod, const Tasks& tasks) {
  const Hosts named = hosts_in(pod.environment.get(kWorkersOfMpi).value_or(""), ',');
  Hosts workers = named;
  std::vector<std::string> sources;
  for (const auto& [name, task] : tasks) {
    const bool counts = named.empty() ? !lists(task.hosts, pod) : task.hosts == named;
    if (!counts) continue;
    sources.push_back(task.source);
    contract.hostfile = sources.size() == 1 ? task.path : "";
    if (named.empty()) workers.insert(workers.end(), task.hosts.begin(), task.hosts.end());
  }
  const std::string source =
      contract_source(contract, sources.empty() ? std::string(kWorkersOfMpi) : join(sources, ", "));
  contract.values.push_back(
      {flag::kMpiRole, lists(workers, pod) ? "launcher-worker" : "launcher", source});
  contract.values.push_back({flag::kRdzvEndpoint, own_full_name(pod), "own name"});
  for (const std::string& host : workers) contract.hosts.push_back({.host = host, .slots = 1});
  contract.values.push_back({flag::kNnodes, std::to_string(workers.size()), source});
  return contract;
}

Contract as_worker(Contract contract, const Task& launcher) {
  const std::string source = contract_source(contract, launcher.source);
  contract.values.push_back({flag::kMpiRole, "worker", source});
  contract.values.push_back({flag::kRdzvEndpoint, launcher.hosts.front(), source});
  return contract;
}

// Its plugin mpi says so; else, unless there is the plugin pytorch, the key of its plugin ssh. A
// user's --framework counts more.
bool is_of_mpi(const PodFacts& pod, const Contract& contract) {
  if (!pod.framework.empty()) return pod.framework == "mpi";
  if (pod.environment.has(kWorkersOfMpi)) return true;
  const bool is_pytorch = pod.environment.has(kMasterAddr) && node_count_of(pod, kWorldSize);
  return !is_pytorch && !contract.secret_file.empty();
}

// The plugin pytorch counts the pods of the tasks master and worker alone.
Contract as_pytorch(Contract contract, const PodFacts& pod, int nodes) {
  const auto rank = number_of(pod, kRank);
  say(contract, flag::kNnodes, std::to_string(nodes), kWorldSize);
  say(contract, flag::kRdzvEndpoint,
      endpoint_of(text_of(pod, kMasterAddr), number_of(pod, kMasterPort).value_or(0)), kMasterAddr);
  if (rank) {
    say_rank(contract, *rank, nodes, kRank);
  } else {
    lack(contract, flag::kNodeRank,
         "the plugin pytorch gives no RANK to '" + pod.host_name + "': its task is none of ours");
  }
  return contract;
}

// All pods of all tasks, that with the master first.
Contract as_nodes(Contract contract, const PodFacts& pod, const Tasks& tasks) {
  const auto nodes = node_count_of(pod, kWorldSize);
  if (nodes && pod.environment.has(kMasterAddr))
    return as_pytorch(std::move(contract), pod, *nodes);
  const Task* const first = launcher_task(tasks);
  Hosts hosts = first != nullptr ? first->hosts : Hosts();
  std::vector<std::string> sources;
  for (const auto& [name, task] : tasks) {
    sources.push_back(task.source);
    if (&task != first) hosts.insert(hosts.end(), task.hosts.begin(), task.hosts.end());
  }
  const std::string source = join(sources, ", ");
  const auto own = std::ranges::find_if(hosts, [&pod](const std::string& host) {
    return first_label(host) == first_label(pod.host_name);
  });
  if (own == hosts.end()) {
    lack(contract, flag::kNodeRank,
         "the host name '" + pod.host_name + "' is in none of the lists");
  } else {
    say(contract, flag::kNodeRank, std::to_string(own - hosts.begin()), source);
  }
  say_hosts(contract, hosts, 0, source);
  return contract;
}

}  // namespace

std::optional<Contract> read_volcano(const PodFacts& pod) {
  const Tasks tasks = read_tasks(pod);
  if (tasks.empty()) return std::nullopt;
  Contract contract;
  contract.controller = "Volcano";
  // JOB-TASK-INDEX.JOB: the headless Service is called as the job is.
  const auto labels = split(tasks.begin()->second.hosts.front(), '.');
  if (labels.size() > 1) contract.job = std::string(labels[1]);
  contract.secret_file = find_mounted_key(pod.files);
  if (!is_of_mpi(pod, contract)) return as_nodes(std::move(contract), pod, tasks);
  if (pod.environment.has(kWorkersOfMpi)) {
    say(contract, flag::kFramework, "mpi", kWorkersOfMpi);
    return as_launcher(std::move(contract), pod, tasks);
  }
  if (pod.framework.empty()) say(contract, flag::kFramework, "mpi", contract.secret_file);
  const auto own = std::find_if(tasks.begin(), tasks.end(),
                                [&pod](const auto& task) { return lists(task.second.hosts, pod); });
  const Task* const launcher = launcher_task(tasks);
  if (own == tasks.end() || (launcher == nullptr && tasks.size() > 1)) {
    std::vector<std::string> names;
    for (const auto& [name, task] : tasks) names.push_back(name);
    lack(contract, flag::kMpiRole,
         own == tasks.end() ? "the host name '" + pod.host_name + "' is in none of the lists"
                            : "which of the tasks " + join(names, ", ") +
                                  " has the launcher is not known: none is called master");
    return contract;
  }
  if (launcher == nullptr || tasks.size() == 1) {
    say_hosts(contract, own->second.hosts, 0, own->second.source);
    return contract;
  }
  if (&own->second == launcher) return as_launcher(std::move(contract), pod, tasks);
  return as_worker(std::move(contract), *launcher);
}

}  // namespace muster::launcher
