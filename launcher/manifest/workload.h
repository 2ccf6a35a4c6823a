// Workload: what a manifest asks for, whatever its kind. Its readers are one file per family of
// kinds; `muster local -f` runs it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launcher/options/flag.h"

namespace muster::launcher {

/// A flag of `muster run` that a field stands for.
struct ManifestValue {
  Flag flag;
  std::string text;
  std::string path;  ///< "spec.mlPolicy.numNodes"
};

/// Pods that are alike.
struct Replica {
  std::string name;  ///< "worker"
  std::string path;  ///< of its container
  int pods = 1;
  std::vector<std::string> words = {};  ///< command and arguments; empty = the image's own
  bool has_command = true;  ///< false: the words are arguments of the image's `muster run --`
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< those with a value
  std::string working_dir = {};                                       ///< "" = the image's own
};

struct Workload {
  std::string name = {};
  int nodes = 0;                ///< to begin with; 0 = as many as there are in `replicas`
  std::string nodes_path = {};  ///< of the field that says it
  std::vector<ManifestValue> values = {};
  /// In the order of their ranks; that with the launcher of MPI first.
  std::vector<Replica> replicas = {};
  bool launcher_has_ranks = false;  ///< it says so
  bool has_launcher = false;        ///< the first replica is a launcher without ranks, and no node
};

/// The workload of a file's text: the document of a kind that is known. A TrainJob runs in its
/// runtime, if that is in the file as well; a Job whose pods are runs of their own is one node that
/// has them all. kUsage: there is none, or are several, or something in it is wrong, by its path
/// and value. kLimit: too large.
Result<Workload> read_workload(const std::string& text);

/// The document. A TrainJob is its runtime with the job's values, if that is there as well.
Result<nlohmann::json> find_workload(std::span<const nlohmann::json> documents);
/// All pods are nodes of one job, and a TrainJob's runtime is elsewhere.
Result<Workload> workload_of(const nlohmann::json& document);

/// Its value for `flag`; null = it says nothing of it.
[[nodiscard]] const ManifestValue* find_value(const Workload& workload, Flag flag);
/// All its pods are those of one MPI job.
[[nodiscard]] bool is_of_mpi(const Workload& workload);
/// How many nodes it begins with, > 0.
[[nodiscard]] int node_count(const Workload& workload);
/// The pods of which that node is one; the last for whoever comes later.
[[nodiscard]] const Replica& replica_of(const Workload& workload, int node_rank);

}  // namespace muster::launcher
