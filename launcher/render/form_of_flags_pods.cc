// A pod's container, resources, place and rights, out of flags.
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "launcher/render/form_of_flags_parts.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr const char* kHome = "/muster-home";

// `muster run` makes one $ of two, as torchrun does. mpirun's words are handed on as they are.
std::string for_muster(std::string_view word) {
  std::string text;
  for (size_t i = 0; i < word.size(); ++i)
    text += word.substr(i).starts_with("$$") ? "$$" : std::string(1, word[i]);
  return text;
}

json command_of(const RenderRequest& request) {
  json words = json::array();
  if (request.container.replaces_entrypoint) words = {"muster", "run", "--"};
  for (const std::string& word : request.words)
    words.push_back(escaped(is_of_mpi(request) ? word : for_muster(word)));
  return words;
}

void add_variables(json& container, const std::vector<VariableFlag>& variables) {
  for (const VariableFlag& variable : variables) {
    set_variable(container, variable.name, escaped(variable.value));
    if (variable.secret.empty()) continue;
    for (json& made : container["env"]) {
      if (made["name"] != variable.name) continue;
      made.erase("value");
      made["valueFrom"] = {{"secretKeyRef", {{"name", variable.secret}, {"key", variable.key}}}};
    }
  }
}

json container_of_flags(const RenderRequest& request) {
  const ContainerFlags& flags = request.container;
  json container = {{"name", "trainer"},
                    {"image", flags.image},
                    {flags.replaces_entrypoint ? "command" : "args", command_of(request)}};
  const std::string policy = flags.pull_policy.empty() ? "Always" : flags.pull_policy;
  container["imagePullPolicy"] = flags.local_image ? "Never" : policy;
  if (!flags.working_dir.empty()) container["workingDir"] = flags.working_dir;
  add_variables(container, flags.environment);
  if (!flags.log_level.empty() && !has_variable(container, "MUSTER_LOG_LEVEL"))
    set_variable(container, "MUSTER_LOG_LEVEL", flags.log_level);
  return container;
}

void add_resources(const ResourceFlags& flags, json& pod) {
  const bool is_share = flags.gpu.find('.') != std::string::npos;
  const std::string gpus = is_share || flags.gpu == "0" ? "" : flags.gpu;
  const std::tuple<const char*, const char*, const std::string&> rows[] = {
      {"requests", "cpu", flags.cpu},       {"limits", "cpu", flags.cpu_limit},
      {"requests", "memory", flags.memory}, {"limits", "memory", flags.memory_limit},
      {"requests", "nvidia.com/gpu", gpus}, {"limits", "nvidia.com/gpu", gpus}};
  for (const auto& [kind, resource, amount] : rows) {
    if (!amount.empty()) container_of(pod)["resources"][kind][resource] = amount;
  }
  for (const auto& [device, count] : flags.devices)
    for (const char* const kind : {"requests", "limits"})
      container_of(pod)["resources"][kind][device] = count;
  json& annotations = pod["metadata"]["annotations"];
  if (is_share) annotations["gpu-fraction"] = flags.gpu;
  if (flags.gpu_memory_mib) annotations["gpu-memory"] = std::to_string(*flags.gpu_memory_mib);
  if (annotations.is_null()) pod["metadata"].erase("annotations");
  if (flags.large_shm) add_volume(pod, "shm", {{"emptyDir", {{"medium", "Memory"}}}}, "/dev/shm");
}

json node_affinity(const std::vector<std::string>& pools) {
  constexpr size_t kMost = 100;  // of a weight
  json terms = json::array();
  for (size_t i = 0; i < pools.size(); ++i) {
    const json expression = {{"key", "kai.scheduler/node-pool"},
                             {"operator", "In"},
                             {"values", json::array({pools[i]})}};
    terms.push_back({{"weight", kMost * (pools.size() - i) / pools.size()},
                     {"preference", {{"matchExpressions", json::array({expression})}}}});
  }
  return {{"preferredDuringSchedulingIgnoredDuringExecution", std::move(terms)}};
}

json pod_affinity(const RenderRequest& request) {
  json affinity;
  for (const TopologyFlag& topology : request.scheduling.topology) {
    json term = {{"topologyKey", topology.key},
                 {"labelSelector", {{"matchLabels", {{kInstanceLabel, request.name}}}}}};
    if (topology.required) {
      affinity["requiredDuringSchedulingIgnoredDuringExecution"].push_back(std::move(term));
    } else {
      affinity["preferredDuringSchedulingIgnoredDuringExecution"].push_back(
          {{"weight", 100}, {"podAffinityTerm", std::move(term)}});
    }
  }
  return affinity;
}

void add_scheduling(const RenderRequest& request, json& spec) {
  const SchedulingFlags& flags = request.scheduling;
  if (!flags.node_type.empty()) spec["nodeSelector"]["run.ai/type"] = flags.node_type;
  if (!flags.priority.empty()) spec["priorityClassName"] = flags.priority;
  if (!flags.node_pools.empty()) spec["affinity"]["nodeAffinity"] = node_affinity(flags.node_pools);
  if (!flags.topology.empty()) spec["affinity"]["podAffinity"] = pod_affinity(request);
  for (const TolerationFlag& flag : flags.tolerations) {
    json toleration = {{"key", flag.key}, {"operator", flag.value ? "Equal" : "Exists"}};
    if (flag.value) toleration["value"] = *flag.value;
    if (!flag.effect.empty()) toleration["effect"] = flag.effect;
    spec["tolerations"].push_back(std::move(toleration));
  }
}

void add_identity(const AccessFlags& flags, json& spec) {
  const auto uid = flags.as_caller ? std::optional(flags.caller_uid) : flags.uid;
  const auto gid = flags.as_caller ? std::optional(flags.caller_gid) : flags.gid;
  const auto& groups = flags.as_caller ? flags.caller_groups : flags.groups;
  if (uid) spec["securityContext"]["runAsUser"] = *uid;
  if (uid == 0) spec["securityContext"]["runAsNonRoot"] = false;
  if (gid) spec["securityContext"]["runAsGroup"] = *gid;
  if (!groups.empty()) spec["securityContext"]["supplementalGroups"] = groups;
}

// HOME of the user's stays: an empty folder is there only if asked for.
void add_home(const RenderRequest& request, json& pod) {
  const AccessFlags& flags = request.access;
  std::string home = kHome;
  bool is_users = false;
  for (const VariableFlag& variable : request.container.environment) {
    if (variable.name != "HOME" || !variable.secret.empty()) continue;
    home = variable.value;
    is_users = true;
  }
  if (!flags.home.value_or(flags.as_caller && !is_users)) return;
  add_volume(pod, "home", {{"emptyDir", json::object()}}, home);
  if (!is_users) set_variable(container_of(pod), "HOME", home);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string all;
  for (const char letter : text) all += letter == '$' ? "$$" : std::string(1, letter);
  return all;
}

json locked_down() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", json::array({"ALL"})}}}};
}

json pod_of_flags(const RenderRequest& request) {
  json pod = {{"spec", {{"containers", json::array({container_of_flags(request)})}}}};
  json& spec = pod["spec"];
  add_resources(request.resources, pod);
  add_scheduling(request, spec);
  add_identity(request.access, spec);
  const AccessFlags& access = request.access;
  if (access.prevent_escalation)
    container_of(pod)["securityContext"]["allowPrivilegeEscalation"] = !*access.prevent_escalation;
  if (access.host_ipc) spec["hostIPC"] = true;
  if (access.host_network) {
    spec["hostNetwork"] = true;
    spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  if (request.job.grace_seconds) spec["terminationGracePeriodSeconds"] = *request.job.grace_seconds;
  add_storage(request, pod);
  add_git(request, pod);
  add_home(request, pod);
  add_sidecar(request, pod);
  if (pod["metadata"].empty()) pod.erase("metadata");
  return pod;
}

}  // namespace muster::launcher
