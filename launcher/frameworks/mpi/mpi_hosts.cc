#include "launcher/frameworks/mpi/mpi_hosts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/contracts/operator_hostfile.h"

namespace muster::launcher {

namespace {

// None: it is not listed.
std::optional<int> slots_in(const std::vector<mpi::HostSlots>& listed,
                            const rendezvous::RosterEntry& node) {
  const auto known = std::find_if(listed.begin(), listed.end(), [&node](const auto& other) {
    if (parse_numeric_host(other.host)) return other.host == node.host;
    return first_label(other.host) == first_label(node.identity.name);
  });
  return known == listed.end() ? std::nullopt : std::optional(known->slots);
}

// Of a node with ranks.
int slots_of(const std::vector<mpi::HostSlots>& listed, const rendezvous::RosterEntry& node) {
  const int each = slots_of_each(listed);
  return slots_in(listed, node).value_or(each > 0 ? each : node.workers);
}

}  // namespace

std::vector<mpi::HostSlots> round_hosts(const std::vector<rendezvous::RosterEntry>& roster,
                                        const std::vector<mpi::HostSlots>& listed) {
  std::vector<mpi::HostSlots> hosts;
  for (const auto& entry : roster) {
    if (entry.workers == 0) continue;  // the launcher's, without ranks
    const int slots = slots_of(listed, entry);
    if (slots > 0) hosts.push_back({.host = entry.identity.name, .slots = slots});
  }
  return hosts;
}

Status check_listed(const std::vector<rendezvous::RosterEntry>& roster,
                    const std::vector<mpi::HostSlots>& listed) {
  std::vector<std::string> strangers;
  for (const auto& entry : roster) {
    if (entry.workers > 0 && !slots_in(listed, entry)) strangers.push_back(entry.identity.name);
  }
  if (listed.empty() || strangers.empty()) return {};
  std::vector<std::string> names;
  for (const auto& host : listed) names.push_back(host.host);
  const int each = slots_of_each(listed);
  if (each == 0) {
    return Error{
        Code::kConfig, 0,
        "how many ranks " + join(strangers, ", ") +
            " may have is not known: the controller's list has " + join(names, ", ") +
            ", with different numbers of slots; --node-name names a node as the list does"};
  }
  if (each > 1) {
    log::warning("mpi.hosts_unlisted", {{"nodes", join(strangers, ",")},
                                        {"listed", join(names, ",")},
                                        {"slots", each},
                                        {"action", "each has as many slots as each listed host"}});
  }
  return {};
}

bool has_dotted_names(const std::vector<mpi::HostSlots>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const auto& host) { return host.host.find('.') != std::string::npos; });
}

int slots_of_each(const std::vector<mpi::HostSlots>& hosts) {
  const int first = hosts.empty() ? 0 : hosts.front().slots;
  const bool same = std::all_of(hosts.begin(), hosts.end(),
                                [first](const auto& host) { return host.slots == first; });
  return same ? first : 0;
}

Result<std::vector<mpi::HostSlots>> with_ranks(std::vector<mpi::HostSlots> hosts) {
  std::erase_if(hosts, [](const auto& host) { return host.slots == 0; });
  if (!hosts.empty()) return hosts;
  return Error{Code::kConfig, 0,
               "no host of this job has a slot, so no rank has a place: the controller's hostfile "
               "says slots=0 for all of them"};
}

IdleHosts idle_hosts(const std::vector<mpi::HostSlots>& hosts, const std::set<std::string>& busy) {
  IdleHosts idle;
  for (const auto& host : hosts) {
    idle.slots += host.slots;
    if (host.slots == 0 || busy.contains(host.host)) continue;
    idle.names += (idle.names.empty() ? "" : ", ") + host.host;
  }
  return idle;
}

void warn_of_idle(const IdleHosts& idle, int ranks) {
  if (idle.names.empty()) return;
  log::warning("mpi.nodes_idle", {{"nodes", idle.names},
                                  {"ranks", ranks},
                                  {"slots", idle.slots},
                                  {"action", "none: so the user's own words wanted it"}});
}

Status check_workers(const std::vector<rendezvous::RosterEntry>& roster,
                     const std::vector<mpi::HostSlots>& listed) {
  for (const auto& entry : roster) {
    const int said = slots_of(listed, entry);
    if (entry.workers == 0 || said == entry.workers) continue;
    const auto slots = static_cast<size_t>(said);
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
  timer_ = loop_.soon([this] { take(contract_.hosts); });
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
