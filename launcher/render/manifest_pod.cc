#include "launcher/render/manifest_pod.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "launcher/manifest/place_words.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/pod_shape.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kContainers = ".spec.containers[";
constexpr const char* kStatusPort = "8080";  // of a pod, unless it is told otherwise
constexpr const char* kStatusVariable = "MUSTER_STATUS_PORT";

// A TrainJob has no pod of its own.
json pod_of_trainer(const json& trainer) {
  json container = {{"name", "node"}};
  for (const char* const name : {"image", "command", "args", "env"})
    if (trainer.contains(name)) container[name] = trainer[name];
  if (trainer.contains("resourcesPerNode")) container["resources"] = trainer["resourcesPerNode"];
  return {{"spec", {{"containers", json::array({std::move(container)})}}}};
}

// 2 of "containers[2]".
int64_t last_index(std::string_view path) {
  path.remove_suffix(1);
  return parse_integer(split(path, '[').back()).value_or(0);
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

// One that Muster mounts something else at. A pod that was rendered has both already.
Status check_mounts(const json& pod, const Field& container) {
  const json volumes = pod["spec"].value("volumes", json::array());
  const auto tells_of_pod = [&volumes](const json& name) {
    return std::ranges::any_of(volumes, [&name](const json& volume) {
      return volume.value("name", json()) == name &&
             (volume.contains("downwardAPI") || volume.contains("projected"));
    });
  };
  const auto mounts = container["volumeMounts"].items();  // a list, as was checked
  for (const Field& mount : *mounts) {
    const Field place = mount["mountPath"];
    const std::string path = place.text()->value_or("");
    if (is_inside(path, kSecretFolder) && !has_variable(container.value(), kSecretFile))
      return place.wrong("another path, unless " + std::string(kSecretFile) +
                         " is set: the job's secret is mounted there");
    if (is_inside(path, kPodInfoFolder) && !tells_of_pod(mount.value().value("name", json())))
      return place.wrong("another path: the pod's labels are mounted there");
  }
  return {};
}

}  // namespace

std::string pod_path(const Replica& replica) {
  const size_t end = replica.path.rfind(kContainers);
  return end == std::string::npos ? "" : replica.path.substr(0, end);
}

Result<json> read_pod_template(const Field& document, const Replica& replica) {
  const std::string path = pod_path(replica);
  const Field container = document.at(replica.path);
  if (path.empty() && !container["image"].is_there())
    return container["image"].wrong("an image: that of the runtime is in a cluster");
  const std::string place = path.empty() ? container.path() : path;
  PodForm pods{.role = place, .pod = {}};
  pods.pod = path.empty() ? pod_of_trainer(container.value()) : document.at(path).value();
  MUSTER_RETURN_IF_ERROR(check_pod(pods));
  json& containers = pods.pod["spec"]["containers"];
  const auto first = containers.begin() + (path.empty() ? 0 : last_index(replica.path));
  std::rotate(containers.begin(), first, first + 1);
  if (!containers[0].contains("name")) return container["name"].wrong("a name");
  MUSTER_RETURN_IF_ERROR(check_mounts(pods.pod, Field(&containers[0], container.path())));
  return std::move(pods.pod);
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
  const json ports = container.value("ports", json::array());
  const auto metrics = std::ranges::find_if(
      ports, [](const json& port) { return port.value("name", json()) == "metrics"; });
  const json declared = metrics == ports.end() ? json() : metrics->value("containerPort", json());
  const std::string port = declared.is_number_integer() ? dump_json(declared) : kStatusPort;
  if (!has_variable(container, kStatusVariable)) set_variable(container, kStatusVariable, port);
  json& annotations = pod["metadata"]["annotations"];
  if (annotations.is_null()) annotations = json::object();
  annotations.emplace("prometheus.io/scrape", "true");
  annotations.emplace("prometheus.io/port", port);
  annotations.emplace("prometheus.io/path", "/metrics");
}

}  // namespace muster::launcher
