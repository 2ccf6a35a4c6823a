#include "launcher/render/dress.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/options/option_values.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr int64_t kGraceSeconds = 30;  // Kubernetes', where nobody says it
constexpr int64_t kMostMargin = 10;
constexpr int kStatusPort = 8080;
constexpr const char* kStatusName = "muster-status";
constexpr const char* kStatusVariable = "MUSTER_STATUS_PORT";
constexpr const char* kTmp = "muster-tmp";
constexpr const char* kTmpFolder = "/tmp";
constexpr std::string_view kRdmaFolder = "/dev/infiniband";

json& object_in(json& parent, const char* name) {
  json& made = parent[name];
  if (made.is_null()) made = json::object();
  return made;
}

json& list_in(json& parent, const char* name) {
  json& made = parent[name];
  if (made.is_null()) made = json::array();
  return made;
}

bool has_item(const json& list, const json& item) {
  return std::ranges::find(list, item) != list.end();
}

void add_labels(json& pod, const JobForm& form) {
  json& labels = object_in(object_in(pod, "metadata"), "labels");
  for (const auto& [key, value] : form.labels.items()) labels.emplace(key, value);
  labels[kInstanceLabel] = form.name;  // Services and policies of this job select by it
}

// --- Who it is

json told(const char* path, const char* field) {
  return {{"path", path}, {"fieldRef", {{"fieldPath", field}}}};
}

void tell_of_itself(json& pod) {
  const json items = {told("labels", "metadata.labels"),
                      told("annotations", "metadata.annotations")};
  add_volume(pod, "muster-podinfo", {{"downwardAPI", {{"items", items}}}}, kPodInfoFolder, true);
}

// `--report annotation` patches the pod, whose name is not that of its host.
void tell_name(json& container) {
  const auto reports = [&container](const char* list) {
    const json words = container.value(list, json::array());
    return has_item(words, "annotation") || has_item(words, "--report=annotation");
  };
  if ((!reports("command") && !reports("args")) || has_variable(container, "POD_NAME")) return;
  const json source = {{"fieldRef", {{"fieldPath", "metadata.name"}}}};
  list_in(container, "env").push_back({{"name", "POD_NAME"}, {"valueFrom", source}});
}

// Helpers write there, too, and their root is as read-only.
void lend_tmp(json& container, const json& spec) {
  const auto is_tmp = [](const json& item) { return item.value("name", "") == kTmp; };
  const auto is_there = [](const json& mount) {
    return mount.value("mountPath", "") == kTmpFolder;
  };
  json& mounts = list_in(container, "volumeMounts");
  if (std::ranges::any_of(spec["volumes"], is_tmp) && std::ranges::none_of(mounts, is_there))
    mounts.push_back({{"name", kTmp}, {"mountPath", kTmpFolder}});
}

// --- The time it has after SIGTERM

// Muster's own time ends before the pod's, so that what is still there is told and not just gone.
void set_grace_period(json& pod) {
  const int64_t whole = pod["spec"].value("terminationGracePeriodSeconds", kGraceSeconds);
  pod["spec"]["terminationGracePeriodSeconds"] = whole;
  json& container = container_of(pod);
  if (has_variable(container, "MUSTER_GRACE_PERIOD")) return;
  const int64_t margin = std::clamp<int64_t>(whole / 6, std::min<int64_t>(whole, 1), kMostMargin);
  set_variable(container, "MUSTER_GRACE_PERIOD", std::to_string(whole - margin) + "s");
}

// --- Probes

std::string variable_value(const json& container, std::string_view name) {
  for (const json& variable : container.value("env", json::array())) {
    const json value = variable.value("value", json());
    if (variable.value("name", "") == name && value.is_string()) return value.get<std::string>();
  }
  return "";
}

// All containers of a pod share its ports; what a Service leads to is a tool's.
std::set<json> taken_ports(const json& pod, const JobForm& form) {
  std::set<json> taken;
  for (const char* const list : {"containers", "initContainers"})
    for (const json& container : pod["spec"].value(list, json::array()))
      for (const json& port : container.value("ports", json::array()))
        if (port.value("name", json()) != kStatusName && port.value("name", json()) != "metrics")
          taken.insert(port.value("containerPort", json()));
  for (const json& document : form.beside)
    if (document["kind"] == "Service")
      for (const json& port : document["spec"].value("ports", json::array()))
        taken.insert(port.value("targetPort", json()));
  return taken;
}

int free_port(const json& pod, const JobForm& form) {
  const std::set<json> taken = taken_ports(pod, form);
  int port = kStatusPort;
  while (taken.contains(port)) ++port;
  return port;
}

json probe(const char* path, int port) {
  return {{"httpGet", {{"path", path}, {"port", port}}}, {"timeoutSeconds", 5}};
}

void add_probes(json& pod, const JobForm& form) {
  json& container = container_of(pod);
  const std::string said = variable_value(container, kStatusVariable);
  const int64_t wanted = parse_integer(said).value_or(free_port(pod, form));
  if (wanted <= 0 || wanted > kMaxPort) return;  // none, or one that `muster run` refuses
  const int port = static_cast<int>(wanted);
  if (port != kStatusPort && said.empty())
    set_variable(container, kStatusVariable, std::to_string(port));
  add_port(pod, kStatusName, port);
  json alive = probe("/healthz", port);
  alive["failureThreshold"] = 6;  // a machine whose CPUs are all busy answers late
  container.emplace("livenessProbe", std::move(alive));
  container.emplace("readinessProbe", probe("/readyz", port));
}

// --- What it may do

bool asks_for_rdma(const json& container) {
  const json resources = container.value("resources", json::object());
  for (const auto& [kind, amounts] : resources.items()) {
    if (!amounts.is_object()) continue;
    for (const auto& [name, amount] : amounts.items())
      if (name.starts_with("rdma/") || name.ends_with("/efa")) return true;
  }
  return std::ranges::any_of(container.value("volumeMounts", json::array()), [](const json& mount) {
    return mount.value("mountPath", "").starts_with(kRdmaFolder);
  });
}

// `runAsNonRoot` is said of each container and not of the pod: training-operator adds a container
// of its own that waits for the master, and runs as root (alpine).
void lock_down(json& container, const json& of_pod) {
  json& context = object_in(container, "securityContext");
  const json user = context.value("runAsUser", of_pod.value("runAsUser", json()));
  if (user != 0 && !of_pod.contains("runAsNonRoot")) context.emplace("runAsNonRoot", true);
  context.emplace("readOnlyRootFilesystem", true);
  if (context.value("privileged", json()) == true) return;  // the API refuses both
  json& capabilities = object_in(context, "capabilities");
  capabilities.emplace("drop", json::array({"ALL"}));
  const auto adds = [&capabilities](const std::string& name) {
    const json added = capabilities.value("add", json::array());
    return has_item(added, name) || has_item(added, "CAP_" + name);
  };
  if (asks_for_rdma(container) && !adds("IPC_LOCK"))
    list_in(capabilities, "add").push_back("IPC_LOCK");
  if (!adds("SYS_ADMIN")) context.emplace("allowPrivilegeEscalation", false);
}

void lock_down_all(json& pod) {
  json& spec = pod["spec"];
  json& context = object_in(spec, "securityContext");
  context.emplace("seccompProfile", json{{"type", "RuntimeDefault"}});
  for (const char* const list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    for (json& container : spec[list]) lock_down(container, context);
  }
}

bool is_on_host_network(const json& pod) {
  return pod["spec"].value("hostNetwork", json()) == true;
}

bool is_user_known(const json& pod) {
  const json& spec = pod["spec"];
  const json context = spec["containers"][0]["securityContext"];
  return context.contains("runAsUser") || spec["securityContext"].contains("runAsUser");
}

void dress(json& pod, const JobForm& form) {
  json& spec = pod["spec"];
  add_labels(pod, form);
  spec.emplace("automountServiceAccountToken", false);
  spec.emplace("enableServiceLinks", false);
  tell_of_itself(pod);
  add_volume(pod, kTmp, {{"emptyDir", json::object()}}, kTmpFolder);
  set_grace_period(pod);
  // On the host network 8080 is whoever's it is.
  if (!is_on_host_network(pod)) add_probes(pod, form);
  for (const char* const list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    std::ranges::for_each(spec[list], tell_name);
    std::ranges::for_each(spec[list], [&spec](json& helper) { lend_tmp(helper, spec); });
  }
  lock_down_all(pod);
}

}  // namespace

void dress_pods(JobForm& form) {
  for (PodForm& pods : form.pods) dress(pods.pod, form);
  if (is_on_host_network(form.pods.front().pod))
    form.remarks.emplace_back(
        "on the host network the pods have no probes: their ports are those of the machine");
  if (!is_user_known(form.pods.front().pod))
    form.remarks.emplace_back(
        "the pods do not run as root, and their root filesystem is read-only: the image needs a "
        "USER that is a number, or the pods a runAsUser; what is written belongs in /tmp or a "
        "volume");
}

}  // namespace muster::launcher
