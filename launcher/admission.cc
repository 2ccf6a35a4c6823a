#include "launcher/admission.h"

#include <utility>

#include "base/log.h"
#include "base/socket.h"

namespace muster::launcher {

bool Admission::admits(const std::string& host) const {
  return members_.empty() || Address{host, 0}.is_loopback() || members_.contains(host);
}

bool Admission::admits(int socket) {
  const auto peer = peer_address(socket);
  // Gone again: the store finds that out by itself.
  if (!peer || peer->host.empty() || admits(peer->host)) return true;
  ++untold_;
  if (loop_.now() < quiet_until_) return false;
  log::warning("store.client_refused", {{"peer", peer->to_string()},
                                        {"refused", std::exchange(untold_, 0)},
                                        {"reason", "not an address of a node of this round"}});
  quiet_until_ = loop_.now() + kRefusalLineEvery;
  return false;
}

}  // namespace muster::launcher
