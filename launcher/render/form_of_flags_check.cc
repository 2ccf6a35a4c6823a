// Flags that contradict each other.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/options/choice.h"
#include "launcher/render/form_of_flags_parts.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/render_values.h"

namespace muster::launcher {

namespace {

struct Rule {
  bool is_broken;
  std::string message;
};

Status check(std::initializer_list<Rule> rules) {
  const auto* const broken = std::ranges::find(rules, true, &Rule::is_broken);
  return broken == rules.end() ? Status() : wrong(broken->message);
}

Status check_sizes(const RenderRequest& request) {
  const SizeFlags& size = request.size;
  const JobFlags& job = request.job;
  const bool is_mpi = is_of_mpi(request);
  const bool is_different = size.master == MasterSetup::kDifferent;
  const bool has_own =
      !size.master_cpu.empty() || !size.master_gpu.empty() || !size.master_environment.empty();
  const bool alike = request.to == JobKind::kJob || request.to == JobKind::kTrainJob;
  return check({
      {job.runs && request.to && request.to != JobKind::kJob,
       "--runs: only --to job has independent runs"},
      {job.runs &&
           (size.workers.value_or(0) > 1 || size.processes || size.master || size.no_master),
       "--runs: each run is one pod; --workers above 1, --processes, --master and --no-master are "
       "of one job of several"},
      {job.parallelism && !job.runs, "--parallelism: there is no --runs"},
      {job.parallelism && *job.parallelism > job.runs.value_or(0),
       "--parallelism: '" + std::to_string(job.parallelism.value_or(0)) +
           "': must be from 1 to --runs, which is " + std::to_string(job.runs.value_or(0))},
      {job.runs && is_mpi, "--runs: an MPI job has no independent runs"},
      {has_own && !is_different,
       "--master-cpu, --master-gpu and --master-environment need --master different"},
      {size.master && size.no_master, "--no-master: --master is given, too"},
      {is_different && alike, "--master different: the pods of --to job and trainjob are alike"},
      {size.processes && !is_mpi, "--processes: needs --framework mpi or --to mpijob"},
      {size.processes && size.workers, "--processes: --workers is given, too"},
      {is_mpi && size.workers == 0, "--workers: an MPI job needs one or more"},
      {size.no_master && size.workers == 0, "--workers: 0 with --no-master leaves no pod"},
      {is_mpi && size.no_master && request.to.value_or(JobKind::kMpiJob) == JobKind::kMpiJob,
       "--no-master: an MPIJob has a launcher"},
  });
}

Status check_container(const RenderRequest& request) {
  const ContainerFlags& container = request.container;
  const bool has_terminal = container.attach || container.terminal.value_or(false) ||
                            container.standard_input.value_or(false);
  return check({
      {container.local_image && !container.pull_policy.empty() && container.pull_policy != "Never",
       "--local-image: --image-pull-policy says something else"},
      {container.attach && (container.standard_input == false || container.terminal == false),
       "--attach: needs --stdin and --tty, which are false"},
      {has_terminal && request.job.runs,
       "--attach, --stdin and --tty: --runs are several programs"},
      {request.job.interactive && request.job.runs.value_or(1) > 1,
       "--interactive: --runs are several programs"},
      {request.job.interactive && request.job.backoff_limit.value_or(0) != 0,
       "--backoff-limit: an --interactive job is not started anew"},
      {container.replaces_entrypoint && request.words.empty(),
       "--command: there are no words of a program behind the flags"},
  });
}

bool exceeds(const std::string& request, const std::string& limit) {
  return !request.empty() && !limit.empty() && *quantity_of(request) > *quantity_of(limit);
}

Status check_rest(const RenderRequest& request) {
  const ResourceFlags& resources = request.resources;
  const AccessFlags& access = request.access;
  const StorageFlags& storage = request.storage;
  const bool has_folder = std::ranges::any_of(storage.mounts, [](const MountFlag& mount) {
    return mount.kind == MountKind::kFolder && mount.nfs_host.empty();
  });
  return check({
      {exceeds(resources.cpu, resources.cpu_limit), "--cpu: must be at most --cpu-limit"},
      {exceeds(request.size.master_cpu, resources.cpu_limit),
       "--master-cpu: must be at most --cpu-limit"},
      {exceeds(resources.memory, resources.memory_limit),
       "--memory: must be at most --memory-limit"},
      {resources.gpu_memory_mib && !resources.gpu.empty(), "--gpu-memory: --gpu is given, too"},
      {access.as_caller && (access.uid || access.gid || !access.groups.empty()),
       "--run-as-user: --uid, --gid or --supplemental-groups is given, too"},
      {!storage.nfs_server.empty() && !has_folder,
       "--nfs-server: there is no --volume without a host of its own"},
      {!request.doors.token_secret.empty() && request.doors.sinks.empty(),
       "--report-token: there is no --report"},
  });
}

// What --resource says again, and otherwise.
Status check_devices(const RenderRequest& request) {
  const ResourceFlags& flags = request.resources;
  std::map<std::string, std::string> counts;
  for (const auto& [device, count] : flags.devices) {
    const auto [known, is_new] = counts.emplace(device, count);
    if (!is_new && known->second != count)
      return wrong("--resource: '" + device + "=" + count + "': it is '" + known->second +
                   "' before");
  }
  const auto gpus = counts.find("nvidia.com/gpu");
  if (gpus == counts.end()) return {};
  const std::string said = "--resource: '" + gpus->first + "=" + gpus->second + "': ";
  const std::pair<const char*, std::string> others[] = {{"--gpu", flags.gpu},
                                                        {"--master-gpu", request.size.master_gpu}};
  for (const auto& [flag, value] : others)
    if (!value.empty() && value != gpus->second) return wrong(said + flag + " is '" + value + "'");
  return flags.gpu_memory_mib ? wrong(said + "--gpu-memory is a share of one") : Status();
}

// The same place of the container twice.
Status check_paths(const RenderRequest& request) {
  std::vector<std::string> paths;
  for (const ClaimFlag& claim : request.storage.claims) paths.push_back(claim.path);
  for (const MountFlag& mount : request.storage.mounts) paths.push_back(mount.path);
  if (request.storage.git) paths.push_back(request.storage.git->target);
  if (request.resources.large_shm) paths.emplace_back("/dev/shm");
  if (!request.doors.sinks.empty()) paths.emplace_back("/var/run/muster");
  for (std::string& path : paths) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (is_inside(path, kSecretFolder) || is_inside(path, kPodInfoFolder))
      return wrong("--volume, --pvc, --storage, ...: '" + path + "': this path is Muster's own");
  }
  std::ranges::sort(paths);
  const auto twice = std::ranges::adjacent_find(paths);
  return twice == paths.end() ? Status()
                              : wrong("--volume, --pvc, --storage, ...: '" + *twice +
                                      "': two volumes have this path");
}

template <typename Item>
std::optional<int> find_twice(const std::vector<Item>& items, int Item::*field) {
  std::vector<int> numbers;
  for (const Item& item : items) numbers.push_back(item.*field);
  std::ranges::sort(numbers);
  const auto twice = std::ranges::adjacent_find(numbers);
  return twice == numbers.end() ? std::nullopt : std::optional(*twice);
}

Status check_doors(const RenderRequest& request) {
  constexpr size_t kMostLetters = 57;  // a Service's name is a label, and has -ports or -tools
  const DoorFlags& doors = request.doors;
  for (int NodePortFlag::*field : {&NodePortFlag::port, &NodePortFlag::node_port}) {
    if (const auto twice = find_twice(doors.node_ports, field))
      return wrong("--node-port: " + std::to_string(*twice) + " is there twice");
  }
  const bool has_service = !doors.node_ports.empty() || !doors.urls.empty();
  if (has_service && request.job.runs)
    return wrong("--node-port, --external-url: of --runs none is the first");
  if (has_service && request.name.size() > kMostLetters)
    return wrong("--name: '" + request.name + "' must be at most 57 letters with a tool's Service");
  return {};
}

}  // namespace

bool is_of_mpi(const RenderRequest& request) {
  return request.job.framework == "mpi" || request.to == JobKind::kMpiJob;
}

Status check_request(const RenderRequest& request) {
  if (request.name.empty()) return wrong("--name is needed");
  if (request.container.image.empty()) return wrong("--image is needed");
  MUSTER_RETURN_IF_ERROR(check_sizes(request));
  MUSTER_RETURN_IF_ERROR(check_container(request));
  MUSTER_RETURN_IF_ERROR(check_rest(request));
  MUSTER_RETURN_IF_ERROR(check_devices(request));
  MUSTER_RETURN_IF_ERROR(check_paths(request));
  return check_doors(request);
}

}  // namespace muster::launcher
