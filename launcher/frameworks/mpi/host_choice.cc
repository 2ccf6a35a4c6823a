#include "launcher/frameworks/mpi/host_choice.h"

#include <map>
#include <set>
#include <string_view>

namespace muster::launcher {

HostChoice choose_hosts(const std::vector<mpi::HostSlots>& before,
                        const std::vector<mpi::HostSlots>& present, size_t most) {
  std::map<std::string_view, const mpi::HostSlots*> there;
  for (const auto& host : present) {
    if (host.slots > 0) there.emplace(host.host, &host);
  }
  HostChoice choice;
  std::set<std::string_view> chosen;
  for (const auto& host : before) {
    const auto found = there.find(host.host);
    if (found == there.end() || choice.hosts.size() >= most) {
      choice.removed.push_back(host.host);
      continue;
    }
    choice.resized = choice.resized || found->second->slots != host.slots;
    choice.hosts.push_back(*found->second);
    chosen.insert(found->first);
  }
  for (const auto& host : present) {
    if (!there.contains(host.host) || chosen.contains(host.host)) continue;
    if (choice.hosts.size() >= most) {
      ++choice.spares;
      continue;
    }
    choice.hosts.push_back(host);
    choice.added.push_back(host.host);
  }
  return choice;
}

}  // namespace muster::launcher
