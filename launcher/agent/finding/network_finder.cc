#include "launcher/agent/finding/network_finder.h"

#include <algorithm>
#include <utility>

#include "base/socket.h"

namespace muster::launcher {

namespace {

constexpr Duration kNameLookup = std::chrono::seconds(2);

bool is_ipv6(const std::string& host) { return host.find(':') != std::string::npos; }

bool is_name(const rendezvous::Candidate& node) {
  return !node.is_service && !parse_numeric_host(node.host);
}

bool is_loopback(const std::string& host) { return Address{host, 0}.is_loopback(); }

std::string interface_towards(const Address& master) {
  const auto own = source_host(master);
  const auto addresses = interface_addresses();
  return own && addresses ? interface_of(*addresses, *own) : "";
}

}  // namespace

void NetworkFinder::find(const rendezvous::Assign& round, const NamedNodes& named) {
  found_ = {};
  done_ = nullptr;
  lookups_.clear();
  names_.clear();
  means_master_.clear();
  if (round.node_count < 2) return;
  found_.is_found = true;
  const std::string& master = round.master_host;
  found_.interface = interface_towards({master, static_cast<uint16_t>(round.master_port)});
  if (!is_ipv6(master)) return;
  for (size_t i = 0; i < named.nodes.size(); ++i) {
    if (!is_name(named.nodes[i])) continue;
    const bool own = round.node_rank == 0 && named.own == static_cast<int>(i);
    const size_t index = names_.size();
    names_.push_back(named.nodes[i].host);
    means_master_.emplace_back();
    lookups_.push_back(resolver_.resolve(
        names_.back(), kNameLookup, [this, index, own, master](const LookupAnswer& answer) {
          const auto& hosts = answer.addresses;
          const bool here = own && !hosts.empty() && std::ranges::all_of(hosts, is_loopback);
          answered(index, here || std::ranges::find(hosts, master) != hosts.end());
        }));
  }
}

// The first name counts, so that all nodes come to the same one.
void NetworkFinder::answered(size_t index, bool is_master) {
  means_master_[index] = is_master;
  const auto open = first_open();
  const auto match = std::find(means_master_.cbegin(), open, std::optional(true));
  if (match != open) {
    found_.master_name = names_[static_cast<size_t>(match - means_master_.cbegin())];
  } else if (open != means_master_.cend()) {
    return;
  }
  if (done_) std::exchange(done_, nullptr)();
}

std::vector<std::optional<bool>>::const_iterator NetworkFinder::first_open() const {
  return std::ranges::find_if(means_master_, [](const auto& means) { return !means; });
}

void NetworkFinder::when_found(std::function<void()> done) {
  if (first_open() == means_master_.cend() || !found_.master_name.empty()) return done();
  done_ = std::move(done);
}

}  // namespace muster::launcher
