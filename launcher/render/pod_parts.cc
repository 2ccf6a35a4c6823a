#include "launcher/render/pod_parts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

auto find_named(json& list, const char* key, std::string_view value) {
  return std::ranges::find_if(
      list, [key, value](const json& item) { return item.value(key, "") == value; });
}

}  // namespace

void enter_project(JobForm& form, const std::string& project) {
  if (project.empty()) return;
  form.name_space = "runai-" + project;
  form.labels[kProjectLabel] = project;
}

bool is_inside(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

json& container_of(json& pod) { return pod["spec"]["containers"][0]; }

void set_variable(json& container, std::string_view name, std::string_view value) {
  json& variables = container["env"];
  if (variables.is_null()) variables = json::array();
  const auto found = find_named(variables, "name", name);
  const json variable = {{"name", name}, {"value", value}};
  if (found == variables.end())
    variables.push_back(variable);
  else
    *found = variable;
}

bool has_variable(const json& container, std::string_view name) {
  const auto variables = container.find("env");
  return variables != container.end() &&
         std::ranges::any_of(*variables, [name](const json& variable) {
           return variable.value("name", "") == name;
         });
}

void add_volume(json& pod, std::string_view name, json source, std::string_view path,
                bool read_only) {
  json& volumes = pod["spec"]["volumes"];
  json& mounts = container_of(pod)["volumeMounts"];
  if (volumes.is_null()) volumes = json::array();
  if (mounts.is_null()) mounts = json::array();
  const bool taken = find_named(volumes, "name", name) != volumes.end() ||
                     find_named(mounts, "mountPath", path) != mounts.end();
  if (taken) return;
  source["name"] = name;
  volumes.push_back(std::move(source));
  json mount = {{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  mounts.push_back(std::move(mount));
}

void add_port(json& pod, std::string_view name, int port) {
  // On the host network each port that is declared is one that no other pod of the machine may
  // have.
  if (pod["spec"].value("hostNetwork", json()) == true) return;
  json& ports = container_of(pod)["ports"];
  if (ports.is_null()) ports = json::array();
  const bool taken = std::ranges::any_of(ports, [name, port](const json& item) {
    return item.value("name", json()) == name || item.value("containerPort", json()) == port;
  });
  if (!taken) ports.push_back({{"name", name}, {"containerPort", port}});
}

int resource_limit(const json& container, std::string_view name) {
  const json resources = container.value("resources", json::object());
  for (const char* const list : {"limits", "requests"}) {
    const json amount = resources.value(list, json::object()).value(name, json());
    const auto number =
        parse_integer(amount.is_string() ? amount.get<std::string>() : amount.dump());
    if (number && *number >= 0 && *number < INT32_MAX) return static_cast<int>(*number);
  }
  return 0;
}

json document(const JobForm& form, std::string_view api_version, std::string_view kind,
              std::string_view name) {
  json metadata = {{"name", name}, {"labels", {{kInstanceLabel, form.name}}}};
  if (!form.name_space.empty()) metadata["namespace"] = form.name_space;
  if (form.labels.contains(kProjectLabel))
    metadata["labels"][kProjectLabel] = form.labels[kProjectLabel];
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

json workload_document(const JobForm& form, std::string_view api_version, std::string_view kind) {
  json made = document(form, api_version, kind, form.name);
  made["metadata"]["labels"].update(form.labels);
  made["metadata"]["labels"][kInstanceLabel] = form.name;  // as its pods have it
  if (!form.annotations.empty()) made["metadata"]["annotations"] = form.annotations;
  return made;
}

}  // namespace muster::launcher
