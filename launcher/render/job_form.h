// JobForm: a job that is to be written as a manifest, before it has a kind. It is made of flags
// (form_of_flags.h) or of another manifest (form_of_manifest.h); a writer for each kind of workload
// (writers.h) makes documents of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launcher {

/// What `--to` names.
enum class JobKind { kJobSet, kJob, kMpiJob, kPytorchJob, kTrainJob };

/// Pods that are alike.
struct PodForm {
  std::string role;  ///< "launcher", "master", "worker"; a word of a host name
  int pods = 1;
  nlohmann::json pod;  ///< PodTemplateSpec; the container that trains is the first
  /// Of the Job of these pods, where the kind has one for each; none: it follows from the form's.
  std::optional<int> backoff_limit = {};
};

/// Independent runs of one command, each a job of one node.
struct Runs {
  int count = 1;
  int parallelism = 1;
};

/// A field of a manifest that the form does not interpret (carried_fields.h).
struct CarriedField {
  size_t row;        ///< of the table that says where it is written
  std::string path;  ///< where it was read
  std::string role;  ///< of the pods whose Job says it; "" = of the whole job
  nlohmann::json value;
};

struct JobForm {
  std::string name = {};
  std::string name_place = "--name";                      ///< the flag or field that says it
  std::string name_space = {};                            ///< "" = wherever it is applied
  nlohmann::json labels = nlohmann::json::object();       ///< of the workload
  nlohmann::json annotations = nlohmann::json::object();  ///< of the workload
  std::string framework = {};                             ///< as --framework; "" = whatever it is
  /// In the order of their ranks; that with the launcher of MPI first.
  std::vector<PodForm> pods = {};
  bool launcher_has_ranks = true;         ///< false: the first of `pods` is a launcher, and no node
  std::string nodes = {};                 ///< "4", "2:8"; of the pods with ranks
  std::string workers = {};               ///< of a node: as --nproc-per-node; "" = not said
  std::string mpi = {};                   ///< "OpenMPI", "Intel", "MPICH"; "" = not said
  std::string ssh_path = {};              ///< where MPI's keys are mounted; "" = not said
  std::optional<Runs> runs = {};          ///< none: all pods are one job
  std::optional<int> max_restarts = {};   ///< by Muster, within the pods
  std::optional<int> backoff_limit = {};  ///< by the controller
  std::optional<int64_t> ttl_seconds = {};
  nlohmann::json gang = {};     ///< as podGroupPolicy of a TrainingRuntime; null = none
  nlohmann::json metrics = {};  ///< of autoscaling/v2, for elastic jobs; null = none
  /// Documents that come before the workload: claims, Secrets, Services of tools.
  std::vector<nlohmann::json> beside = {};
  std::vector<CarriedField> carried = {};
  std::vector<std::string> left = {};  ///< fields of a manifest that have no place, by their paths
  /// Lines for people, about what was decided.
  std::vector<std::string> remarks = {};
};

/// The first pods that have ranks: rank 0 is in one of them.
[[nodiscard]] inline const PodForm& first_ranks(const JobForm& form) {
  return form.pods[form.launcher_has_ranks ? 0 : 1];
}

}  // namespace muster::launcher
