// Which MPI a launcher program (mpirun, mpiexec) belongs to, told by its path, and what the
// launchers of each are called. Pure: following links and searching PATH is the caller's business.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace muster::mpi {

/// Families whose launchers take the same settings. MPICH: Hydra, so also MVAPICH.
enum class Implementation : uint8_t { kOpenMpi, kMpich, kIntelMpi };

/// Best first, where one folder has the launchers of several: beside Intel MPI's lies what MPICH's
/// have, too.
inline constexpr std::array kAllImplementations = {
    Implementation::kOpenMpi, Implementation::kIntelMpi, Implementation::kMpich};

/// "Open MPI", "MPICH", "Intel MPI".
[[nodiscard]] std::string_view to_string(Implementation implementation);

/// A launcher that was recognised. Of Open MPI 5 the `major` matters: its settings have other
/// names.
struct Launcher {
  Implementation implementation = Implementation::kOpenMpi;
  int major = 0;  ///< of Open MPI; 0 = not known
};

/// From this one on Open MPI tells nodes apart by their own host names. Tried: 5.0.11.
inline constexpr int kFirstOpenMpiOfHostNames = 5;

/// From a path with every symbolic link followed ("/usr/bin/orterun"): some names belong to one
/// implementation alone. None: it could be any (mpirun, mpiexec).
[[nodiscard]] std::optional<Implementation> identify_path(std::string_view path);

/// mpirun, mpiexec and their relatives.
[[nodiscard]] std::vector<std::string_view> all_launcher_names();
/// One of them; `name` has no folder.
[[nodiscard]] bool is_launcher_name(std::string_view name);

/// What the exit code of a rank says when its library gave it because the connection to another
/// rank broke: a phrase behind "exit code N". Such an end follows from another one, if there is
/// any. "" = nothing of that kind. None: of whatever MPI the rank may be.
[[nodiscard]] std::string_view lost_rank_remark(std::optional<Implementation> implementation,
                                                int exit_code);

/// Such an end is believed only if nothing comes so long to explain it. Whoever started the ranks
/// ends the others meanwhile, and then nobody is waited for: what takes as long is a rank on a node
/// that is cut off.
inline constexpr Duration kLostRankHeld = std::chrono::seconds(2);

/// Names to look for on PATH, best first. Those that belong to one implementation alone come before
/// mpirun, which may be a link to anything. Intel MPI's mpirun is not among them: it is a script
/// that loses signals and may start another MPI's mpiexec.
[[nodiscard]] std::vector<std::string_view> launcher_names(Implementation implementation);

}  // namespace muster::mpi
