#include "launcher/render/companions.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "launcher/render/pod_parts.h"
#include "launcher/render/workload_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

// Declared for people, and for the job's own pods.
constexpr std::string_view kOwnPorts[] = {"muster", "pytorchjob-port"};

// As a NetworkPolicy names it: the number, and the protocol if it is not TCP.
void add_number(std::set<json>& ports, const json& number, const json& protocol) {
  if (!number.is_number_integer()) return;
  json port = {{"port", number}};
  if (protocol.is_string() && protocol != "TCP") port["protocol"] = protocol;
  ports.insert(std::move(port));
}

std::set<json> open_ports(const JobForm& form) {
  std::set<json> ports;
  for (const PodForm& pods : form.pods) {
    for (const char* const list : {"containers", "initContainers"}) {
      for (const json& container : pods.pod["spec"].value(list, json::array())) {
        for (const json& port : container.value("ports", json::array())) {
          const json name = port.value("name", json());
          if (name != kOwnPorts[0] && name != kOwnPorts[1])
            add_number(ports, port.value("containerPort", json()), port.value("protocol", json()));
        }
      }
    }
  }
  for (const json& document : form.beside) {
    if (document.value("kind", "") != "Service") continue;
    for (const json& port : document["spec"].value("ports", json::array()))
      add_number(ports, port.value("targetPort", port.value("port", json())), json());
  }
  return ports;
}

json own_pods(const JobForm& form) { return {{"matchLabels", {{kInstanceLabel, form.name}}}}; }

}  // namespace

json headless_service(const JobForm& form) {
  json service = document(form, "v1", "Service", form.name);
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", {{kInstanceLabel, form.name}}}};
  return service;
}

json network_policy(const JobForm& form) {
  json open = json::array();
  for (const json& port : open_ports(form)) open.push_back(port);
  json ingress = {{{"from", {{{"podSelector", own_pods(form)}}}}}};
  if (!open.empty()) ingress.push_back({{"ports", std::move(open)}});
  json policy = document(form, "networking.k8s.io/v1", "NetworkPolicy", form.name);
  policy["spec"] = {{"podSelector", own_pods(form)},
                    {"policyTypes", {"Ingress"}},
                    {"ingress", std::move(ingress)}};
  return policy;
}

// Volcano counts, if both are said.
json pod_group_fields(JobForm& form) {
  constexpr std::string_view kVolcanos[] = {"minMember", "minResources", "queue",
                                            "priorityClassName"};
  constexpr std::string_view kPlugins[] = {"minMember", "minResources", "scheduleTimeoutSeconds"};
  const bool is_volcano = form.gang.contains("volcano");
  using Names = std::span<const std::string_view>;
  const Names names = is_volcano ? Names(kVolcanos) : Names(kPlugins);
  json fields = json::object();
  for (const auto& [scheduler, said] : form.gang.items()) {
    const bool is_chosen = (scheduler == "volcano") == is_volcano;
    for (const auto& [name, value] : said.items()) {
      if (is_chosen && std::ranges::find(names, name) != names.end())
        fields[name] = value;
      else
        form.left.push_back(scheduler + "." + name);
    }
  }
  return fields;
}

std::vector<json> pod_groups(JobForm& form) {
  if (form.gang.is_null()) return {};
  const bool is_volcano = form.gang.contains("volcano");
  json spec = {{"minMember", least_pods(form)}};
  spec.update(pod_group_fields(form));
  const char* const version =
      is_volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1";
  json group = document(form, version, "PodGroup", form.name);
  group["spec"] = std::move(spec);
  for (PodForm& pods : form.pods) {
    json& metadata = pods.pod["metadata"];
    if (is_volcano) {
      metadata["annotations"]["scheduling.k8s.io/group-name"] = form.name;
      pods.pod["spec"].emplace("schedulerName", "volcano");
    } else {
      metadata["labels"]["scheduling.x-k8s.io/pod-group"] = form.name;
    }
  }
  if (!is_volcano)
    form.remarks.emplace_back(
        "the PodGroup counts only for a scheduler with the plugin coscheduling (schedulerName)");
  return {group};
}

json scheduling_policy(const JobForm& form) {
  if (form.gang.is_null()) return {};
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"minMember", "minAvailable"},
      {"minResources", "minResources"},
      {"queue", "queue"},
      {"priorityClassName", "priorityClass"},
      {"scheduleTimeoutSeconds", "scheduleTimeoutSeconds"}};
  json policy = {{"minAvailable", least_pods(form)}};
  for (const json& gang : form.gang)
    for (const auto& [name, in_policy] : kFields)
      if (gang.is_object() && gang.contains(name)) policy[in_policy] = gang[name];
  return policy;
}

std::vector<json> prepare_for_no_operator(JobForm& form) {
  set_job(form);
  set_sizes(form);
  mount_job_secret(form);
  declare_job_port(form);
  std::vector<json> documents = std::move(form.beside);
  for (json& group : pod_groups(form)) documents.push_back(std::move(group));
  documents.push_back(network_policy(form));
  return documents;
}

}  // namespace muster::launcher
