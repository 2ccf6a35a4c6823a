#include "launcher/agent/leading/arrivals.h"

#include <utility>

namespace muster::launcher {

void Arrivals::came(rendezvous::LinkId id, const UniqueFd& connection) {
  if (!told_) return;
  const auto here = network_.local_address(connection.get());
  if (here && !here->is_loopback()) hosts_[id] = here->host;
}

void Arrivals::joined(rendezvous::LinkId id) {
  const auto arrival = hosts_.find(id);
  if (arrival == hosts_.end()) return;
  const std::string host = arrival->second;
  hosts_.clear();
  std::exchange(told_, nullptr)(host);
}

}  // namespace muster::launcher
