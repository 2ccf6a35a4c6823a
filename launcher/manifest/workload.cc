#include "launcher/manifest/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/manifest/container_command.h"
#include "launcher/manifest/documents.h"
#include "launcher/manifest/jobset.h"
#include "launcher/manifest/kubeflow_jobs.h"
#include "launcher/manifest/pod_template.h"
#include "launcher/manifest/yaml_reader.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

namespace {

struct Kind {
  std::string_view kind;
  std::string_view group;  // of apiVersion, without the version
  Status (*read)(const Field& document, Workload& workload);
};

constexpr Kind kKinds[] = {
    {"TrainingRuntime", "ome.io", read_training_runtime},
    {"ClusterTrainingRuntime", "ome.io", read_training_runtime},
    {"TrainingRuntime", "trainer.kubeflow.org", read_training_runtime},
    {"ClusterTrainingRuntime", "trainer.kubeflow.org", read_training_runtime},
    {"JobSet", "jobset.x-k8s.io", read_jobset},
    {"Job", "batch", read_indexed_job},
    {"PyTorchJob", "kubeflow.org", read_pytorch_job},
    {"MPIJob", "kubeflow.org", read_mpi_job},
    {"TrainJob", "trainer.kubeflow.org", read_train_job},
};

std::string names_of_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    if (std::ranges::find(names, kind.kind) == names.end()) names.emplace_back(kind.kind);
  return join(names, ", ");
}

// What an MPI job is known by, whatever its kind.
struct MpiSigns {
  bool of_mpi = false;
  bool leads = false;      // where mpirun runs
  bool has_ranks = false;  // there as well
};

// A command that its launcher would refuse says nothing; whoever runs it tells.
MpiSigns mpi_signs(const Workload& workload, const Replica& replica) {
  const auto command = read_container_command(workload, replica, "1");
  if (!command) return {};
  const auto said = [&command](Flag flag) {
    const GivenValue* const given = command->find(flag);
    return given == nullptr ? std::string() : given->text;
  };
  const bool calls_mpirun = mpi::is_launcher_name(base_name(command->program.value_or("")));
  const std::string role = said(flag::kMpiRole);
  return {calls_mpirun || said(flag::kFramework) == "mpi",
          calls_mpirun || role.starts_with("launcher"), role == "launcher-worker"};
}

void settle_mpi(Workload& workload) {
  std::vector<Replica>& replicas = workload.replicas;
  for (size_t i = 0; i < replicas.size(); ++i) {
    const MpiSigns signs = mpi_signs(workload, replicas[i]);
    if (!signs.of_mpi && !(signs.leads && is_of_mpi(workload))) continue;
    if (!is_of_mpi(workload))
      workload.values.push_back({flag::kFramework, "mpi", replicas[i].path + ".command"});
    workload.launcher_has_ranks = workload.launcher_has_ranks || signs.has_ranks;
    if (!signs.leads) continue;
    const auto launcher = replicas.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(replicas.begin(), launcher, launcher + 1);
    break;
  }
  workload.has_launcher = is_of_mpi(workload) && replicas.size() > 1 &&
                          replicas.front().pods == 1 && !workload.launcher_has_ranks;
}

Status check_nodes(const Workload& workload) {
  int64_t pods = 0;
  for (size_t i = workload.has_launcher ? 1 : 0; i < workload.replicas.size(); ++i)
    pods += workload.replicas[i].pods;
  if (pods > kMaxPods)
    return Error{Code::kUsage, 0,
                 workload.nodes_path + ": there are " + std::to_string(pods) + " pods, and " +
                     std::to_string(kMaxPods) + " are the most"};
  if (const ManifestValue* const range = find_value(workload, flag::kNnodes)) {
    const auto most = parse_integer(range->text.substr(range->text.find(':') + 1));
    if (!most || pods <= *most) return {};
    return Error{Code::kUsage, 0,
                 range->path + ": '" + range->text + "' must reach to " + std::to_string(pods) +
                     ", as many pods as the manifest has with ranks"};
  }
  if (workload.nodes == 0 || workload.nodes == pods) return {};
  return Error{Code::kUsage, 0,
               workload.nodes_path + ": '" + std::to_string(workload.nodes) + "' must be " +
                   std::to_string(pods) + ", as many pods as the manifest has with ranks"};
}

void add_nodes(Workload& workload) {
  if (find_value(workload, flag::kNnodes) == nullptr)
    workload.values.push_back(
        {flag::kNnodes, std::to_string(node_count(workload)), workload.nodes_path});
}

// Null: it is none that is known.
Result<const Kind*> kind_of(const Field& document) {
  const auto kind = document["kind"].text();
  const auto version = document["apiVersion"].text();
  if (!kind || !version) return Error(kind ? version.error() : kind.error());
  const auto* const known = std::ranges::find_if(kKinds, [&](const Kind& row) {
    return *kind == row.kind && version->value_or("").starts_with(std::string(row.group) + "/");
  });
  return known == std::end(kKinds) ? nullptr : known;
}

// A kind that is known, and another group's.
std::string version_remark(const Field& document) {
  const auto kind = document["kind"].text();
  const auto version = document["apiVersion"].text();
  if (!kind || !version ||
      std::ranges::find(kKinds, kind->value_or(""), &Kind::kind) == std::end(kKinds))
    return "";
  return " of apiVersion '" + version->value_or("") + "'";
}

}  // namespace

Result<nlohmann::json> find_workload(std::span<const nlohmann::json> documents) {
  std::vector<const nlohmann::json*> found;
  std::vector<std::string> others;
  for (const nlohmann::json* document : flattened(documents)) {
    const auto kind = kind_of(Field(document, ""));
    if (!kind) return Error(kind.error());
    if (*kind != nullptr)
      found.push_back(document);
    else
      others.push_back(description_of(*document) + version_remark(Field(document, "")));
  }
  if (found.size() == 2 && refers_to(*found[0], *found[1]))
    return runtime_of_train_job(*found[0], *found[1]);
  if (found.size() == 2 && refers_to(*found[1], *found[0]))
    return runtime_of_train_job(*found[1], *found[0]);
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  for (const nlohmann::json* document : found) names.push_back(description_of(*document));
  if (!found.empty())
    return Error{Code::kUsage, 0,
                 "there are several workloads, and one can run: " + join(names, ", ")};
  return Error{Code::kUsage, 0,
               "kind: there must be one of " + names_of_kinds() +
                   (others.empty() ? "" : ", and there is only " + join(others, ", "))};
}

Result<Workload> workload_of(const nlohmann::json& value) {
  const Field document(&value, "");
  const auto kind = kind_of(document);
  if (!kind) return Error(kind.error());
  Workload workload;
  const auto name = document["metadata"]["name"].text();
  if (!name) return Error(name.error());
  workload.name = name->value_or("");
  MUSTER_RETURN_IF_ERROR((*kind)->read(document, workload));
  settle_mpi(workload);
  MUSTER_RETURN_IF_ERROR(check_nodes(workload));
  add_nodes(workload);
  return workload;
}

Result<Workload> read_workload(const std::string& text) {
  const auto documents = read_yaml(text);
  if (!documents) return Error(documents.error());
  const auto document = find_workload(*documents);
  if (!document) return Error(document.error());
  auto runs = read_runs(Field(&*document, ""));
  if (!runs) return std::move(runs).error();
  return *runs ? **std::move(runs) : workload_of(*document);
}

const ManifestValue* find_value(const Workload& workload, Flag flag) {
  const auto value = std::ranges::find(workload.values, flag, &ManifestValue::flag);
  return value == workload.values.end() ? nullptr : &*value;
}

bool is_of_mpi(const Workload& workload) {
  const ManifestValue* const framework = find_value(workload, flag::kFramework);
  return framework != nullptr && framework->text == "mpi";
}

int node_count(const Workload& workload) {
  if (workload.nodes > 0) return workload.nodes;
  int nodes = 0;
  for (const Replica& replica : workload.replicas) nodes += replica.pods;
  return workload.has_launcher ? nodes - workload.replicas.front().pods : nodes;
}

const Replica& replica_of(const Workload& workload, int node_rank) {
  int rest = node_rank;
  for (size_t i = workload.has_launcher ? 1 : 0; i < workload.replicas.size(); ++i) {
    rest -= workload.replicas[i].pods;
    if (rest < 0) return workload.replicas[i];
  }
  return workload.replicas.back();
}

}  // namespace muster::launcher
