// What the launcher of an MPI (mpirun, mpiexec) must be told, as environment variables, so that it
// starts its daemons through `muster rsh`, uses the interface that the agents use and leaves CPUs
// alone. Pure: facts in, variables with reasons out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment_plan.h"
#include "base/result.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

/// What is known before the launcher starts.
struct LaunchFacts {
  Launcher launcher;
  /// Absolute path of a link called muster-rsh, the same on every node. One word: Hydra and Intel
  /// MPI take no more; Open MPI splits at spaces and colons.
  std::string rsh_program;
  /// The same for Open MPI, whose daemons ask on their own nodes whether it is there, and crash if
  /// it is not: "/usr/bin/muster rsh". "" = rsh_program, which is there.
  std::string rsh_words = {};
  std::string hostfile;   ///< absolute path, in the launcher's format
  int hosts = 1;          ///< in the hostfile
  int slots = 0;          ///< of each of them; 0 = they differ
  std::string interface;  ///< name of the one the agents use, the same on every node; "" = unknown
  std::string network;    ///< its network as "10.0.0.0/24", or "" when not known
  bool has_ipv4 = true;   ///< that interface has an IPv4 address
  bool has_rdma = false;  ///< a device that UCX would use is there
  bool is_root = false;
  bool has_dotted_names = false;  ///< of hosts in the hostfile
  bool flat = false;              ///< rsh_program is on the launcher's node alone
  bool wants_stdin = false;       ///< rank 0 reads the launcher's stdin
  Duration start_deadline = std::chrono::minutes(5);  ///< for all daemons to be there, >= 1 s
};

/// All settings for the launcher, in the order of the tables. Those of Open MPI 4 and 5 go out
/// together: tools around it mix the names, and each version ignores the other's without a word.
/// kConfig: rsh_program or hostfile hold what the launcher would split (space, colon), or are not
/// absolute; MPICH or Intel MPI without IPv4.
Result<std::vector<PlannedVariable>> launch_settings(const LaunchFacts& facts);

/// For processes that may call a launcher of any MPI themselves: the settings of all of them that
/// change nothing for whoever calls none. So without those that say how many ranks are where, that
/// take something away, and that other libraries of such a process read as well (UCX, libfabric).
/// Of `facts` hostfile, slots, launcher and wants_stdin are not looked at. kConfig: rsh_program, as
/// above.
Result<std::vector<PlannedVariable>> caller_settings(const LaunchFacts& facts);

/// For a command that calls the launcher of the job, whichever it is: the settings of all of them,
/// but for those that take something away (unwanted_variables). `facts.hostfile` is in the format
/// of Open MPI, `host_list` the same hosts in that of the others; the launcher's kind and
/// wants_stdin are not looked at. Without IPv4 only those of Open MPI. kConfig: as launch_settings.
Result<std::vector<PlannedVariable>> command_settings(const LaunchFacts& facts,
                                                      const std::string& host_list);

/// By which the launchers of all implementations are told their hosts.
[[nodiscard]] std::vector<std::string_view> hostfile_variables();
/// By which launchers are told the network of all nodes.
[[nodiscard]] std::vector<std::string_view> network_variables();
/// What that launcher's environment must not have.
[[nodiscard]] std::vector<std::string_view> unwanted_variables(Implementation implementation);

/// Settings for ranks of every MPI on a node where they may not read each other's memory
/// (base/process/memory_reading.h).
[[nodiscard]] std::vector<PlannedVariable> copying_settings();

/// Settings for ranks that no launcher starts: the network by which the agents reach each other.
/// `interface` "" = not known. `has_rdma` as in LaunchFacts.
[[nodiscard]] std::vector<PlannedVariable> rank_settings(const std::string& interface,
                                                         bool has_rdma);

/// The same for Open MPI. `network` "" = not known.
[[nodiscard]] std::vector<PlannedVariable> openmpi_rank_settings(const std::string& network);

/// Words between the launcher and the user's own, but not where the launcher is the user's own.
[[nodiscard]] std::vector<std::string> launch_arguments(const LaunchFacts& facts);

}  // namespace muster::mpi
