#include "launcher/render/manifest_pod.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "launcher/manifest/place_words.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kContainers = ".spec.containers[";
constexpr int kStatusPort = 8080;  // of a pod, unless it is told otherwise
constexpr const char* kStatusVariable = "MUSTER_STATUS_PORT";

Status check_map(const Field& field) {
  return !field.is_there() || field.value().is_object() ? Status() : field.wrong("a map");
}

// `key`: by which Kubernetes knows its items, a text.
Status check_list(const Field& list, std::string_view key) {
  const auto items = list.items();
  if (!items) return Error(items.error());
  for (const Field& item : *items) {
    MUSTER_RETURN_IF_ERROR(check_map(item));
    const Field name = item[key];
    if (!name.is_there() || !name.value().is_string()) return name.wrong("a text");
  }
  return {};
}

Status check_texts(const Field& map) {
  MUSTER_RETURN_IF_ERROR(check_map(map));
  if (!map.is_there()) return {};
  for (const auto& [key, value] : map.value().items())
    if (!value.is_string()) return map[key].wrong("a text");
  return {};
}

Status check_container(const Field& container) {
  MUSTER_RETURN_IF_ERROR(check_list(container["env"], "name"));
  MUSTER_RETURN_IF_ERROR(check_list(container["volumeMounts"], "mountPath"));
  MUSTER_RETURN_IF_ERROR(check_map(container["securityContext"]));
  for (const char* const list : {"limits", "requests"})
    MUSTER_RETURN_IF_ERROR(check_map(container["resources"][list]));
  MUSTER_RETURN_IF_ERROR(check_map(container["resources"]));
  const auto ports = container["ports"].items();
  if (!ports) return Error(ports.error());
  for (const Field& port : *ports) {
    MUSTER_RETURN_IF_ERROR(check_map(port));
    const auto number = port["containerPort"].number(1, 65535);
    if (!number) return Error(number.error());
    if (const auto name = port["name"].text(); !name) return Error(name.error());
  }
  return {};
}

// What parts of manifests are added to (pod_parts.h) must be what Kubernetes takes it for.
Status check_pod(const Field& pod) {
  for (const Field& map : {pod, pod["metadata"], pod["spec"], pod["spec"]["securityContext"]})
    MUSTER_RETURN_IF_ERROR(check_map(map));
  MUSTER_RETURN_IF_ERROR(check_texts(pod["metadata"]["labels"]));
  MUSTER_RETURN_IF_ERROR(check_texts(pod["metadata"]["annotations"]));
  MUSTER_RETURN_IF_ERROR(check_list(pod["spec"]["volumes"], "name"));
  for (const char* const list : {"containers", "initContainers"}) {
    MUSTER_RETURN_IF_ERROR(check_list(pod["spec"][list], "name"));
    const auto containers = pod["spec"][list].items();
    for (const Field& container : *containers) MUSTER_RETURN_IF_ERROR(check_container(container));
  }
  return {};
}

// A TrainJob has no pod of its own.
json pod_of_trainer(const json& trainer) {
  json container = {{"name", "node"}};
  for (const char* const name : {"image", "command", "args", "env"})
    if (trainer.contains(name)) container[name] = trainer[name];
  if (trainer.contains("resourcesPerNode")) container["resources"] = trainer["resourcesPerNode"];
  return {{"spec", {{"containers", json::array({std::move(container)})}}}};
}

// Null is as good as nothing, but not for whoever adds to it.
void drop_nulls(json& value) {
  if (!value.is_structured()) return;
  for (auto item = value.begin(); item != value.end();) {
    const bool drop = value.is_object() && item->is_null();
    if (!drop) drop_nulls(*item);
    item = drop ? value.erase(item) : std::next(item);
  }
}

std::vector<std::string> words_in(const json& container, const char* list) {
  return Field(&container, "")[list].words().value_or(std::vector<std::string>());
}

bool is_shell(std::string_view name) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"};
  return std::ranges::find(kShells, name) != std::end(kShells);
}

bool is_muster(const std::vector<std::string>& words) {
  return words.size() > 1 && base_name(words[0]) == "muster" && words[1] == "run";
}

std::vector<std::string> rewritten(std::vector<std::string> words, const json& container,
                                   std::string_view nodes) {
  if (!has_variable(container, "MASTER_ADDR")) words = without_places(words);
  std::vector<NamedValue> values = {{"NUM_NODES", nodes}};
  if (!words.empty() && !is_shell(base_name(words.front()))) {
    values.push_back({"MASTER_ADDR", "$(MASTER_ADDR)"});
    values.push_back({"MASTER_PORT", "$(MASTER_PORT)"});
  }
  for (std::string& word : words) word = with_values(word, values);
  return words;
}

}  // namespace

std::string pod_path(const Replica& replica) {
  const size_t end = replica.path.rfind(kContainers);
  return end == std::string::npos ? "" : replica.path.substr(0, end);
}

Result<json> read_pod_template(const Field& document, const Replica& replica) {
  const std::string path = pod_path(replica);
  const Field container = document.at(replica.path);
  if (path.empty()) {
    MUSTER_RETURN_IF_ERROR(check_list(container["env"], "name"));
    if (!container["image"].is_there())
      return container["image"].wrong("an image: that of the runtime is in a cluster");
    json pod = pod_of_trainer(container.value());
    MUSTER_RETURN_IF_ERROR(check_container(Field(&container_of(pod), container.path())));
    drop_nulls(pod);
    return pod;
  }
  const Field field = document.at(path);
  MUSTER_RETURN_IF_ERROR(check_pod(field));
  json pod = field.value();
  json& containers = pod["spec"]["containers"];
  const auto index = parse_integer(std::string_view(replica.path)
                                       .substr(path.size() + kContainers.size())
                                       .substr(0, replica.path.size() - path.size() -
                                                      kContainers.size() - 1));
  const auto first = containers.begin();
  std::rotate(first, first + index.value_or(0), first + index.value_or(0) + 1);
  drop_nulls(pod);
  return pod;
}

std::string put_muster_first(json& container, std::string_view nodes) {
  std::vector<std::string> words = words_in(container, "command");
  const bool has_command = !words.empty();
  const std::vector<std::string> arguments = words_in(container, "args");
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (is_muster(words)) return "";
  words = rewritten(std::move(words), container, nodes);
  container.erase("args");
  if (!words.empty()) container["args"] = words;
  if (has_command) {
    container["command"] = {"muster", "run", "--"};
    return "";
  }
  return "container '" + container["name"].get<std::string>() +
         "' has no command: the image's ENTRYPOINT must be: muster run --";
}

bool only_serves(const json& container) {
  const std::vector<std::string> command = words_in(container, "command");
  if (!command.empty()) return base_name(command.front()) == "sshd";
  return words_in(container, "args").empty();
}

void serve_by_muster(json& container, const json& launcher) {
  for (const char* const name :
       {"command", "args", "livenessProbe", "readinessProbe", "startupProbe"})
    container.erase(name);
  for (const char* const name : {"command", "args"})
    if (launcher.contains(name)) container[name] = launcher[name];
}

void publish_metrics(json& pod) {
  json& container = container_of(pod);
  int port = kStatusPort;
  for (const json& declared : container.value("ports", json::array()))
    if (declared.value("name", json()) == "metrics")
      port = Field(&declared, "")["containerPort"].number(1, 65535)->value_or(port);
  if (port != kStatusPort && !has_variable(container, kStatusVariable))
    set_variable(container, kStatusVariable, std::to_string(port));
  json& annotations = pod["metadata"]["annotations"];
  if (annotations.is_null()) annotations = json::object();
  annotations.emplace("prometheus.io/scrape", "true");
  annotations.emplace("prometheus.io/port", std::to_string(port));
  annotations.emplace("prometheus.io/path", "/metrics");
}

}  // namespace muster::launcher
