#include "launcher/frameworks/mpi_hosts.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
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
