#include "mpi/launch/implementation.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace muster::mpi {

namespace {

struct NameRow {
  std::string_view name;
  Implementation implementation;
};

// Debian's alternatives and the programs of the families themselves. mpiexec.hydra is of MPICH and
// of Intel MPI alike: the folder tells.
constexpr std::array kNames = {
    NameRow{"orterun", Implementation::kOpenMpi},
    NameRow{"prterun", Implementation::kOpenMpi},
    NameRow{"mpirun.openmpi", Implementation::kOpenMpi},
    NameRow{"mpiexec.openmpi", Implementation::kOpenMpi},
    NameRow{"mpirun.mpich", Implementation::kMpich},
    NameRow{"mpiexec.mpich", Implementation::kMpich},
};
constexpr std::string_view kHydra = "mpiexec.hydra";

// With which code a library ends its rank when an error has none that MPI knows.
struct LostRankRow {
  Implementation implementation;
  int exit_code;
  std::string_view remark;
};
constexpr std::array kLostRankCodes = {
    // MPI_ERR_UNKNOWN: "Socket closed", told by btl/tcp, is fatal without a code of its own
    // (mca_pml_ob1_error_handler, backend_abort; sources of 5.0.9, 5.0.10 and main; seen: 5.0.11).
    LostRankRow{Implementation::kOpenMpi, 14, ", as Open MPI does when it loses another rank"},
    // MPI_ERR_OTHER. Seen: 4.0.2 and 4.2.1, not each time; most often it waits.
    LostRankRow{Implementation::kMpich, 15, ", as MPICH does when it loses another rank"},
};

}  // namespace

std::string_view to_string(Implementation implementation) {
  switch (implementation) {
    case Implementation::kOpenMpi:
      return "Open MPI";
    case Implementation::kMpich:
      return "MPICH";
    case Implementation::kIntelMpi:
      return "Intel MPI";
  }
  return "unknown";
}

std::optional<Implementation> identify_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view folder = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  for (const NameRow& row : kNames) {
    if (name == row.name) return row.implementation;
  }
  if (name != kHydra) return std::nullopt;
  // .../intel/oneapi/mpi/2021.18/bin; the impi-rt wheel puts it into a plain bin, where only its
  // words tell.
  const std::string lower = to_lower(folder);
  const bool intel =
      lower.find("intel") != std::string::npos || lower.find("impi") != std::string::npos;
  if (intel) return Implementation::kIntelMpi;
  return lower == "/usr/bin" ? std::optional(Implementation::kMpich) : std::nullopt;
}

std::string_view lost_rank_remark(std::optional<Implementation> implementation, int exit_code) {
  for (const LostRankRow& row : kLostRankCodes) {
    if (row.exit_code == exit_code &&
        implementation.value_or(row.implementation) == row.implementation)
      return row.remark;
  }
  return "";
}

std::vector<std::string_view> all_launcher_names() {
  std::vector<std::string_view> names = {"mpirun", "mpiexec", kHydra};
  for (const NameRow& row : kNames) names.push_back(row.name);
  return names;
}

bool is_launcher_name(std::string_view name) {
  const auto names = all_launcher_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string_view> launcher_names(Implementation implementation) {
  switch (implementation) {
    case Implementation::kOpenMpi:
      return {"mpirun.openmpi", "orterun", "mpirun", "mpiexec"};
    case Implementation::kMpich:
      return {"mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"};
    case Implementation::kIntelMpi:
      return {"mpiexec.hydra"};
  }
  return {};
}

}  // namespace muster::mpi
