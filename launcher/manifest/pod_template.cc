#include "launcher/manifest/pod_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kImplementations[] = {"OpenMPI", "Intel", "MPICH"};
// Of several containers the one that the controllers of Kubeflow take for the trainer.
constexpr std::string_view kTrainers[] = {"node", "trainer", "pytorch", "mpi"};
constexpr std::string_view kGpus[] = {"nvidia.com/gpu", "amd.com/gpu"};
// Beyond that it is a mistake: no machine has as many.
constexpr int kMaxWorkers = 1024;

using Variables = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> value_of(const Variables& variables, std::string_view name) {
  const auto last =
      std::ranges::find(variables.rbegin(), variables.rend(), name, &Variables::value_type::first);
  return last == variables.rend() ? std::nullopt : std::optional(last->second);
}

// A container's texts with their variables, which may double with each line. As much as the kernel
// takes of all arguments and variables.
constexpr size_t kMaxBytes = 2U << 20;

class Expander {
 public:
  // kLimit, with the field's path.
  Result<std::string> expand(const Field& field, std::string_view text, const Variables& variables);

 private:
  size_t left_ = kMaxBytes;
};

// $(NAME) of a variable, $$ for $. Source: Kubernetes, third_party/forked/golang/expansion.
Result<std::string> Expander::expand(const Field& field, std::string_view text,
                                     const Variables& variables) {
  std::string expanded;
  const size_t last_end = text.rfind(')');
  for (size_t i = 0; i < text.size() && expanded.size() <= left_; ++i) {
    const bool doubled = text.substr(i).starts_with("$$");
    const bool opens = text.substr(i).starts_with("$(") && last_end != text.npos && i < last_end;
    const size_t end = opens ? text.find(')', i) : text.npos;
    if (doubled) {
      expanded += '$';
      ++i;
    } else if (end != text.npos) {
      const auto value = value_of(variables, text.substr(i + 2, end - i - 2));
      expanded += value ? *value : std::string(text.substr(i, end + 1 - i));
      i = end;
    } else {
      expanded += text[i];
    }
  }
  if (expanded.size() > left_)
    return Error{Code::kLimit, 0, field.path() + ": with its variables it is more than 2 MiB"};
  left_ -= expanded.size();
  return expanded;
}

Result<Variables> read_environment(const Field& container, Expander& expander) {
  Variables variables;
  const auto items = container["env"].items();
  if (!items) return Error(items.error());
  for (const Field& item : *items) {
    const auto name = item["name"].text();
    if (!name) return Error(name.error());
    if (!*name) return item["name"].wrong("the name of a variable");
    const auto value = item["value"].text();
    if (!value) return Error(value.error());
    if (item["valueFrom"].is_there()) continue;  // of a cluster that is not here
    auto expanded = expander.expand(item["value"], value->value_or(""), variables);
    if (!expanded) return std::move(expanded).error();
    variables.emplace_back(**name, *std::move(expanded));
  }
  return variables;
}

Result<int> whole_number_of(const Field& resources, std::string_view name) {
  for (const char* list : {"limits", "requests"}) {
    const Field field = resources[list][name];
    const auto text = field.text();
    if (!text) return Error(text.error());
    if (!*text) continue;
    const auto number = parse_number(**text);
    if (number && *number >= 0) return static_cast<int>(std::min<double>(*number, kMaxWorkers));
    if (name == "cpu") return 0;  // 500m, half a CPU, is no worker
    return field.wrong("a number of devices");
  }
  return 0;
}

}  // namespace

Result<Field> training_container(const Field& pod) {
  const Field containers = pod["spec"]["containers"];
  const auto items = containers.items();
  if (!items) return Error(items.error());
  if (items->empty())
    return Error{Code::kUsage, 0, containers.path() + ": there must be a container"};
  for (const Field& item : *items) {
    const auto name = item["name"].text();
    if (name && std::ranges::find(kTrainers, name->value_or("")) != std::end(kTrainers))
      return item;
  }
  return items->front();
}

Result<Replica> read_container(const Field& container, std::string name, int pods) {
  Expander expander;
  auto variables = read_environment(container, expander);
  if (!variables) return std::move(variables).error();
  Replica replica{.name = std::move(name), .path = container.path(), .pods = pods};
  Variables in_words = *variables;  // whatever the cluster says of rank 0, here it is elsewhere
  for (const char* const address : {"MASTER_ADDR", "MASTER_PORT"})
    in_words.emplace_back(address, "${" + std::string(address) + "}");
  for (const char* list : {"command", "args"}) {
    auto words = container[list].words();
    if (!words) return std::move(words).error();
    for (const std::string& word : *words) {
      auto expanded = expander.expand(container[list], word, in_words);
      if (!expanded) return std::move(expanded).error();
      replica.words.push_back(*std::move(expanded));
    }
  }
  replica.has_command = container["command"].is_there();
  const auto folder = container["workingDir"].text();
  if (!folder) return Error(folder.error());
  replica.working_dir = folder->value_or("");
  replica.environment = *std::move(variables);
  return replica;
}

Result<Replica> read_pod(const Field& pod, std::string name, int pods) {
  const auto container = training_container(pod);
  if (!container) return Error(container.error());
  return read_container(*container, std::move(name), pods);
}

Status add_worker_count(Workload& workload, const Field& count, const Field& resources) {
  const auto text = count.text();
  if (!text) return Error(text.error());
  int gpus = 0;
  for (const std::string_view name : kGpus) {
    const auto number = whole_number_of(resources, name);
    if (!number) return Error(number.error());
    gpus = std::max(gpus, *number);
  }
  const auto cpus = whole_number_of(resources, "cpu");
  if (!cpus) return Error(cpus.error());
  std::string workers = text->value_or("auto");
  if (workers == "auto") {
    const int known = gpus > 0 ? gpus : *cpus;
    if (known == 0 && !count.is_there()) return {};
    if (known > 0) workers = std::to_string(known);
  } else if (workers == "gpu") {
    if (gpus == 0) return count.wrong("auto, cpu or a number: the pod asks for no GPU");
    workers = std::to_string(gpus);
  } else if (workers != "cpu" && !count.number(1, kMaxWorkers)) {
    return count.wrong("auto, cpu, gpu or a number from 1 to " + std::to_string(kMaxWorkers));
  }
  const std::string& path = count.is_there() ? count.path() : resources.path();
  workload.values.push_back({flag::kNprocPerNode, workers, path});
  return {};
}

Status add_pods_workers(Workload& workload, const Field& count, const Field& pod) {
  const auto container = training_container(pod);
  if (!container) return Error(container.error());
  return add_worker_count(workload, count, (*container)["resources"]);
}

Status add_mpi(Workload& workload, const Field& implementation) {
  const auto name = implementation.one_of(kImplementations);
  if (!name) return Error(name.error());
  if (*name) workload.values.push_back({flag::kMpi, to_lower(**name), implementation.path()});
  return {};
}

}  // namespace muster::launcher
