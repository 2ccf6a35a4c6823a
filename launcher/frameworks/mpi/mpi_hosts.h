// Which nodes of a round have ranks, and how many: what their agents say of themselves, or a
// controller's hostfile, which is read again while the job runs.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/loop.h"
#include "launcher/contracts/contract.h"
#include "launcher/options/options.h"
#include "mpi/launch/hostfile.h"
#include "rendezvous/messages/round_report.h"

namespace muster::launcher {

/// The nodes with ranks by node rank, under the names by which `muster rsh` finds them. The slots
/// of `listed` (names in full or cut at the first dot, or addresses) count more than what a node
/// says, and who has none of them is left out. A node that is not listed has as many as each of the
/// listed ones, or its own number where those differ. Pure.
[[nodiscard]] std::vector<mpi::HostSlots> round_hosts(
    const std::vector<rendezvous::RosterEntry>& roster, const std::vector<mpi::HostSlots>& listed);

/// Pods of the host network have names that no list has. kConfig, with both lists: then the listed
/// slots differ, so nobody knows how many such a node has. Else a warning tells how many they are
/// given, if that is more than one.
Status check_listed(const std::vector<rendezvous::RosterEntry>& roster,
                    const std::vector<mpi::HostSlots>& listed);

/// One of them has a dot in its name. Pure.
[[nodiscard]] bool has_dotted_names(const std::vector<mpi::HostSlots>& hosts);
/// The number that all of them have; 0 = they differ, or there are none. Pure.
[[nodiscard]] int slots_of_each(const std::vector<mpi::HostSlots>& hosts);

/// Those with slots. kConfig: none has any. Pure.
Result<std::vector<mpi::HostSlots>> with_ranks(std::vector<mpi::HostSlots> hosts);

struct IdleHosts {
  std::string names;  ///< with slots but without ranks: "node-2, node-3"
  int slots = 0;      ///< of all hosts
};
/// `busy`: where ranks are. Pure.
[[nodiscard]] IdleHosts idle_hosts(const std::vector<mpi::HostSlots>& hosts,
                                   const std::set<std::string>& busy);
/// The user's own words may want fewer nodes than there are: nobody shall wonder. Nothing if none
/// is idle.
void warn_of_idle(const IdleHosts& idle, int ranks);

/// Where the agents start the ranks themselves, each node says how many. kConfig: one says another
/// number than the controller's list, and what to do about it. Pure.
Status check_workers(const std::vector<rendezvous::RosterEntry>& roster,
                     const std::vector<mpi::HostSlots>& listed);

/// A list that has changed where --nnodes is one number: says that nothing follows.
void warn_of_fixed_nodes(const Options& options, int hosts);

/// A ConfigMap reaches a pod within a minute or so; looking more often would gain nothing.
inline constexpr Duration kHostfileLook = std::chrono::seconds(2);

/// The controller's list of hosts as it is now, in the launcher's pod.
class MpiHostList {
 public:
  /// `files` and `contract` are borrowed. `changed` comes from the loop, first for the list as it
  /// is, then whenever it is another one: how many hosts it has.
  MpiHostList(Loop& loop, const Files& files, const Contract& contract,
              std::function<void(int hosts)> changed);
  MpiHostList(const MpiHostList&) = delete;
  MpiHostList& operator=(const MpiHostList&) = delete;

  /// All of them; the slots may mean nothing.
  [[nodiscard]] std::vector<mpi::HostSlots> hosts() const { return hosts_; }
  /// Those whose slots the controller says; empty = each node says its own.
  [[nodiscard]] std::vector<mpi::HostSlots> with_slots() const;

 private:
  void look();
  void take(std::vector<mpi::HostSlots> hosts);

  Loop& loop_;
  const Files& files_;
  const Contract& contract_;
  std::function<void(int)> changed_;
  std::vector<mpi::HostSlots> hosts_;
  std::string problem_;  // the last one, told already
  Timer timer_;
};

}  // namespace muster::launcher
