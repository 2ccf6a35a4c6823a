#include "mpi/launch/launched_rank.h"

#include <string>

namespace muster::mpi {

namespace {

constexpr std::string_view kLocalSize = "LOCAL_WORLD_SIZE";

struct Row {
  std::string_view name;
  std::string_view sources[2];  // of Open MPI, of Hydra
  std::string_view reason;
};

constexpr Row kRows[] = {
    {"RANK", {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, "this rank among all ranks"},
    {"WORLD_SIZE", {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, "ranks of the job"},
    {"LOCAL_RANK", {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}, "this rank on its node"},
    {kLocalSize, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, "ranks of this node"},
};

}  // namespace

std::vector<PlannedVariable> launched_rank_variables(const Environment& rank) {
  std::vector<PlannedVariable> variables;
  bool has_company = false;
  for (const Row& row : kRows) {
    for (const std::string_view source : row.sources) {
      const auto value = rank.get(source);
      if (!value) continue;
      if (row.name == kLocalSize) has_company = value != "1";
      variables.push_back({std::string(row.name), std::string(*value), std::string(row.reason),
                           std::string(source)});
      break;
    }
  }
  if (has_company && rank.has(kUnboundRanksVariable)) {
    variables.push_back({"OMP_NUM_THREADS", "1", "several ranks share this node's CPUs",
                         std::string(kUnboundRanksVariable)});
  }
  return variables;
}

}  // namespace muster::mpi
