#include "launcher/agent/serving/admission.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/socket.h"
#include "base/socket_owner.h"

namespace muster::launcher {

bool Admission::admits(const std::string& host) const {
  const auto has_it = [&host](const IpNetwork& network) { return network.contains(host); };
  return !members_ || Address{host, 0}.is_loopback() || members_->contains(host) ||
         std::any_of(networks_.begin(), networks_.end(), has_it);
}

bool Admission::knows(int socket, const Address& own) const {
  const auto peer = peer_address(socket);
  if (!peer) return false;
  if (peer->is_loopback() || peer->host == own.host) {
    const auto owner = owner_of_peer(RealFiles(), own, *peer);
    return owner && (*owner == geteuid() || *owner == 0);
  }
  return members_ && admits(peer->host);
}

bool Admission::admits(int socket) {
  const auto peer = peer_address(socket);
  // Gone again: the store finds that out by itself.
  if (!peer || peer->host.empty() || admits(peer->host)) return true;
  ++untold_;
  if (loop_.now() < quiet_until_) return false;
  log::warning("store.client_refused",
               {{"peer", peer->to_string()},
                {"refused", std::exchange(untold_, 0)},
                {"reason", "not an address of a node of this round (--admit lets in others)"}});
  quiet_until_ = loop_.now() + kRefusalLineEvery;
  return false;
}

}  // namespace muster::launcher
