#include "launcher/frameworks/mpi_hosts.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "launcher/contracts/operator_hostfile.h"

namespace muster::launcher {

std::vector<mpi::HostSlots> round_hosts(const std::vector<rendezvous::RosterEntry>& roster,
                                        const std::vector<mpi::HostSlots>& listed) {
  std::vector<mpi::HostSlots> hosts;
  for (const auto& entry : roster) {
    if (entry.workers == 0) continue;  // the launcher's, without ranks
    mpi::HostSlots host{.host = entry.identity.name, .slots = entry.workers};
    const auto known = std::find_if(listed.begin(), listed.end(), [&host](const auto& other) {
      return first_label(other.host) == first_label(host.host);
    });
    if (known != listed.end()) host.slots = known->slots;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Status check_workers(const std::vector<rendezvous::RosterEntry>& roster,
                     const std::vector<mpi::HostSlots>& listed) {
  const auto hosts = round_hosts(roster, listed);
  for (const auto& entry : roster) {
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&entry](const auto& other) {
      return other.host == entry.identity.name;
    });
    if (host == hosts.end() || host->slots == entry.workers) continue;
    const auto slots = static_cast<size_t>(host->slots);
    return Error{Code::kConfig, 0,
                 entry.identity.name + " starts " +
                     counted(static_cast<size_t>(entry.workers), "rank", "ranks") +
                     ", the controller's list has " + counted(slots, "slot", "slots") +
                     " for it, which only mpirun can give to others: say --nproc-per-node " +
                     std::to_string(slots) + " on every node"};
  }
  return {};
}

void warn_of_fixed_nodes(const Options& options, int hosts) {
  if (options.min_nodes != options.max_nodes || hosts == options.max_nodes) return;
  log::warning("mpi.hosts_fixed",
               {{"hosts", hosts},
                {"action", "going on with " + std::to_string(options.max_nodes) +
                               "; --nnodes MIN:MAX lets the job follow the list"}});
}

MpiHostList::MpiHostList(Loop& loop, const Files& files, const Contract& contract,
                         std::function<void(int)> changed)
    : loop_(loop), files_(files), contract_(contract), changed_(std::move(changed)) {
  timer_ = loop_.at(loop_.now(), [this] { take(contract_.hosts); });
}

std::vector<mpi::HostSlots> MpiHostList::with_slots() const {
  return contract_.says_slots ? hosts_ : std::vector<mpi::HostSlots>{};
}

void MpiHostList::take(std::vector<mpi::HostSlots> hosts) {
  const size_t before = std::exchange(hosts_, std::move(hosts)).size();
  if (before > 0) {
    log::info("mpi.hosts", {{"file", contract_.hostfile},
                            {"hosts", static_cast<int64_t>(hosts_.size())},
                            {"before", static_cast<int64_t>(before)}});
  }
  changed_(static_cast<int>(hosts_.size()));
  if (!contract_.hostfile.empty()) timer_ = loop_.after(kHostfileLook, [this] { look(); });
}

// By its path each time: a ConfigMap is another folder after every change.
void MpiHostList::look() {
  timer_ = loop_.after(kHostfileLook, [this] { look(); });
  auto hosts = read_operator_hostfile(files_, contract_);
  const std::string problem = hosts ? "" : hosts.error().text;
  if (!problem.empty() && problem != problem_) {
    log::warning("mpi.hosts_failed",
                 {{"error", problem}, {"action", "the last list that was read stays"}});
  }
  problem_ = problem;
  if (hosts && *hosts != hosts_) take(std::move(*hosts));
}

}  // namespace muster::launcher
