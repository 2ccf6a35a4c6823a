// LauncherFiles: what a launcher finds that the user brings along: `ssh` and `rsh`, which are
// `muster rsh`, in front of its PATH, and the nodes that it may use, in the forms in which such
// launchers ask for them. The list is exchanged whole while the launcher runs.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/process/temporary_folder.h"
#include "base/result.h"
#include "mpi/launch/hostfile.h"

namespace muster::launcher {

/// Path of the hostfile, "NAME slots=N" line by line (Open MPI, DeepSpeed, horovodrun --hostfile).
inline constexpr std::string_view kHostfileVariable = "MUSTER_HOSTFILE";
/// The same hosts as "NAME:N" line by line.
inline constexpr std::string_view kHostListVariable = "MUSTER_HOST_LIST";
/// Path of a program that prints the latter: horovodrun --host-discovery-script. It lies on PATH as
/// well, under kDiscoveryName.
inline constexpr std::string_view kDiscoveryVariable = "MUSTER_DISCOVER_HOSTS";
inline constexpr std::string_view kDiscoveryName = "discover_hosts.sh";

class LauncherFiles {
 public:
  /// In a new folder below `folder`, which exists; `muster` is the path of this binary. `launchers`
  /// get links as well (called_launcher.h). kOs.
  static Result<LauncherFiles> create(const std::string& folder, const std::string& muster,
                                      const std::vector<std::string>& launchers = {});

  /// Puts the list in place of the one before; none at all is a list, too. kConfig: a name that
  /// launchers would read otherwise, or two of them for one host (mpi/launch/hostfile.h); nothing
  /// is written then. kOs.
  Status write(const std::vector<mpi::HostSlots>& hosts) const;
  /// The variables above, and the folder in front of the PATH of `user`.
  [[nodiscard]] std::vector<PlannedVariable> variables(const Environment& user) const;
  /// Paths of the files.
  [[nodiscard]] std::string hostfile() const;
  [[nodiscard]] std::string host_list() const;
  /// The program that prints the list.
  [[nodiscard]] std::string discovery() const;

 private:
  explicit LauncherFiles(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
};

/// "/tmp/.../discover_hosts.sh" -> true.
[[nodiscard]] bool is_discovery_name(std::string_view called_as);
/// Prints the list to `output`. Exit code: 78 when the variable is not set or its file is not
/// there, with a line on `errors`; 71 when it cannot be written.
int run_discovery(const Environment& environment, const Files& files, std::FILE* output,
                  std::FILE* errors);

}  // namespace muster::launcher
