#include "mpi/implementation.h"

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

// In front of the version, in what each prints:
//   mpirun (Open MPI) 4.1.4                                    Open MPI 4.1.4, called mpirun
//   mpirun.openmpi (OpenRTE) 4.1.4                             the same, called otherwise
//   prterun (PRRTE) 3.0.14                                     Open MPI 5.0.11
//   HYDRA build details:\n    Version:          4.0.2          MPICH 4.0.2
//   Intel(R) MPI Library for Linux* OS, Version 2021.18 Build ...
struct TextRow {
  std::string_view mark;    // must be in the text
  std::string_view before;  // the version follows this, after the mark; "" = the mark itself
  Implementation implementation;
  int fixed_major;  // 0 = as printed
};
constexpr std::array kTexts = {
    TextRow{"(Open MPI) ", "", Implementation::kOpenMpi, 0},
    TextRow{"(OpenRTE) ", "", Implementation::kOpenMpi, 0},
    TextRow{"(PRRTE) ", "", Implementation::kOpenMpi, 5},
    TextRow{"Intel(R) MPI Library", "Version ", Implementation::kIntelMpi, 0},
    TextRow{"HYDRA build details", "Version:", Implementation::kMpich, 0},
};

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

constexpr size_t kMaxVersionParts = 3;

// "4.1.4", "5.0.2rc1", "2021.18": up to three numbers, whatever follows them.
std::optional<std::array<int, kMaxVersionParts>> read_version(std::string_view text) {
  std::array<int, kMaxVersionParts> parts{};
  text = trim(text.substr(0, text.find('\n')));
  for (size_t i = 0; i < kMaxVersionParts; ++i) {
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
    const auto number = parse_integer(digits);
    if (!number || *number > 1'000'000) return i == 0 ? std::nullopt : std::optional(parts);
    parts[i] = static_cast<int>(*number);
    text.remove_prefix(digits.size());
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return parts;
}

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

Result<Implementation> parse_implementation(std::string_view text) {
  const std::string name = to_lower(text);
  if (name == "openmpi") return Implementation::kOpenMpi;
  if (name == "mpich") return Implementation::kMpich;
  if (name == "intel") return Implementation::kIntelMpi;
  return Error{Code::kUsage, 0,
               "'" + std::string(text) + "' is no MPI known here; openmpi, mpich and intel are"};
}

std::optional<Launcher> identify_version_text(std::string_view text) {
  text = text.substr(0, kMaxVersionTextBytes);
  for (const TextRow& row : kTexts) {
    const size_t mark = text.find(row.mark);
    if (mark == std::string_view::npos) continue;
    std::string_view rest = text.substr(mark + row.mark.size());
    const size_t before = rest.find(row.before);
    if (before == std::string_view::npos) continue;
    const auto version = read_version(rest.substr(before + row.before.size()));
    if (!version) continue;
    if (row.fixed_major != 0) return Launcher{row.implementation, row.fixed_major, 0, 0};
    return Launcher{row.implementation, (*version)[0], (*version)[1], (*version)[2]};
  }
  return std::nullopt;
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
