// What is open to people and programs outside: Services of tools, and a sidecar that reports.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "launcher/render/form_of_flags_parts.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr const char* kRunFolder = "/var/run/muster";
constexpr const char* kTokenFolder = "/var/run/muster-token";
constexpr const char* kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

bool patches_pods(const RenderRequest& request) {
  const auto& sinks = request.doors.sinks;
  return std::ranges::find(sinks, "annotation") != sinks.end();
}

std::string report_name(const RenderRequest& request) { return request.name + "-report"; }

json field_variable(const char* name, const char* field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

void mount_in(json& pod, json& container, json volume, const char* path) {
  container["volumeMounts"].push_back(
      {{"name", volume["name"]}, {"mountPath", path}, {"readOnly", true}});
  pod["spec"]["volumes"].push_back(std::move(volume));
}

// What kubelet mounts by itself, but here for the sidecar alone.
json account_volume() {
  constexpr int kLifetimeSeconds = 3607;
  return {
      {"name", "muster-account"},
      {"projected",
       {{"sources",
         json::array(
             {{{"serviceAccountToken",
                {{"path", "token"}, {"expirationSeconds", kLifetimeSeconds}}}},
              {{"configMap",
                {{"name", "kube-root-ca.crt"},
                 {"items", json::array({{{"key", "ca.crt"}, {"path", "ca.crt"}}})}}}},
              {{"downwardAPI",
                {{"items",
                  json::array({{{"path", "namespace"},
                                {"fieldRef", {{"fieldPath", "metadata.namespace"}}}}})}}}}})}}}};
}

json sidecar_words(const RenderRequest& request) {
  json words = {"muster", "sidecar", "--run-dir", kRunFolder};
  for (const std::string& sink : request.doors.sinks) {
    words.push_back("--report");
    words.push_back(escaped(sink));
  }
  if (!request.doors.token_secret.empty()) {
    words.push_back("--token-file");
    words.push_back(std::string(kTokenFolder) + "/token");
  }
  if (!request.container.log_level.empty()) {
    words.push_back("--log-level");
    words.push_back(request.container.log_level);
  }
  return words;
}

json port_of(int port) {
  return {{"name", "port-" + std::to_string(port)}, {"port", port}, {"targetPort", port}};
}

void add_node_ports(const RenderRequest& request, JobForm& form) {
  if (request.doors.node_ports.empty()) return;
  json ports = json::array();
  for (const auto& [port, node_port] : request.doors.node_ports) {
    ports.push_back(port_of(port));
    ports.back()["nodePort"] = node_port;
  }
  json service = document(form, "v1", "Service", form.name + "-ports");
  service["spec"] = {{"type", "NodePort"},
                     {"selector", first_pod_labels(request, form)},
                     {"ports", std::move(ports)}};
  form.beside.push_back(std::move(service));
}

json rule_of(const JobForm& form, const ExternalUrlFlag& url) {
  const json backend = {
      {"service", {{"name", form.name + "-tools"}, {"port", {{"number", url.port}}}}}};
  const json path = {{"path", url.path}, {"pathType", "Prefix"}, {"backend", backend}};
  return {{"host", url.host}, {"http", {{"paths", json::array({path})}}}};
}

void add_urls(const RenderRequest& request, JobForm& form) {
  if (request.doors.urls.empty()) return;
  json ports = json::array();
  json ingress = document(form, "networking.k8s.io/v1", "Ingress", form.name + "-tools");
  for (const ExternalUrlFlag& url : request.doors.urls) {
    const json port = port_of(url.port);
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
    ingress["spec"]["rules"].push_back(rule_of(form, url));
    if (url.secure) ingress["spec"]["tls"].push_back({{"hosts", json::array({url.host})}});
  }
  json service = document(form, "v1", "Service", form.name + "-tools");
  service["spec"] = {{"selector", first_pod_labels(request, form)}, {"ports", std::move(ports)}};
  form.beside.push_back(std::move(service));
  form.beside.push_back(std::move(ingress));
}

// A sidecar may patch the pods of its namespace, of which one is its own.
void add_rights(const RenderRequest& request, JobForm& form) {
  if (!patches_pods(request)) return;
  constexpr const char* kRights = "rbac.authorization.k8s.io/v1";
  const std::string name = report_name(request);
  form.beside.push_back(document(form, "v1", "ServiceAccount", name));
  json role = document(form, kRights, "Role", name);
  role["rules"] = json::array({{{"apiGroups", json::array({""})},
                                {"resources", json::array({"pods"})},
                                {"verbs", json::array({"get", "patch"})}}});
  json binding = document(form, kRights, "RoleBinding", name);
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}};
  binding["subjects"] = json::array({{{"kind", "ServiceAccount"}, {"name", name}}});
  form.beside.push_back(std::move(role));
  form.beside.push_back(std::move(binding));
}

}  // namespace

void add_sidecar(const RenderRequest& request, json& pod) {
  const DoorFlags& doors = request.doors;
  if (doors.sinks.empty()) return;
  add_volume(pod, "muster-run", {{"emptyDir", json::object()}}, kRunFolder);
  json& trainer = container_of(pod);
  if (!has_variable(trainer, "MUSTER_RUN_DIR")) set_variable(trainer, "MUSTER_RUN_DIR", kRunFolder);
  json sidecar = {
      {"name", "muster-sidecar"},
      {"image", request.container.image},
      {"imagePullPolicy", trainer["imagePullPolicy"]},
      {"restartPolicy", "Always"},
      {"command", sidecar_words(request)},
      {"securityContext", locked_down()},
      {"volumeMounts", json::array({{{"name", "muster-run"}, {"mountPath", kRunFolder}}})}};
  if (!doors.token_secret.empty()) {
    const json item = {{"key", doors.token_key}, {"path", "token"}};
    const json secret = {{"secretName", doors.token_secret}, {"items", json::array({item})}};
    mount_in(pod, sidecar, {{"name", "muster-token"}, {"secret", secret}}, kTokenFolder);
  }
  if (patches_pods(request)) {
    sidecar["env"] = json::array({field_variable("POD_NAME", "metadata.name"),
                                  field_variable("POD_NAMESPACE", "metadata.namespace")});
    pod["spec"]["serviceAccountName"] = report_name(request);
    mount_in(pod, sidecar, account_volume(), kAccountFolder);
  }
  pod["spec"]["initContainers"].push_back(std::move(sidecar));
}

void add_door_documents(const RenderRequest& request, JobForm& form) {
  add_node_ports(request, form);
  add_urls(request, form);
  add_rights(request, form);
  const auto& sinks = request.doors.sinks;
  if (std::ranges::find(sinks, "trainjob") != sinks.end())
    form.remarks.emplace_back(
        "--report trainjob: the Trainer gives KUBEFLOW_TRAINER_SERVER_* to the trainer's container "
        "alone; the sidecar's environment needs them, too");
}

}  // namespace muster::launcher
