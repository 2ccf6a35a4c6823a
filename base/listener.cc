#include "base/listener.h"

#include <cerrno>
#include <utility>

#include "base/log.h"

namespace muster {

Result<Address> Listener::listen(const Address& address) {
  auto socket = network_.listen(address);
  if (!socket) return std::move(socket).error();
  // Accepted sockets inherit it, which saves five calls for each (Linux).
  notice_dead_peers(socket->get());
  auto bound = network_.local_address(socket->get());
  if (!bound) return bound;
  auto watch = loop_.watch(socket->get(), Interest::kRead, [this](Ready) { on_acceptable(); });
  if (!watch) return std::move(watch).error();
  watch_.reset();  // before what it watched is closed
  socket_ = std::move(*socket);
  watch_ = std::move(*watch);
  return bound;
}

void Listener::close() {
  again_.reset();
  watch_.reset();
  socket_.reset();
  paused_ = false;
}

void Listener::on_acceptable() {
  for (int accepted = 0; accepted < kAcceptsPerTurn; ++accepted) {
    auto connection = network_.accept(socket_.get());
    if (!connection) {
      const int reason = connection.error().os_errno;
      if (reason == EAGAIN) return;
      // This one connection failed before we took it (accept(2)): the next may be fine.
      if (reason == ECONNABORTED || reason == EINTR || reason == EPROTO) continue;
      return pause(connection.error());
    }
    if (std::exchange(paused_, false)) log::info("port.accept_resumed", {});
    arrived_(std::move(*connection));
    if (!socket_.is_open()) return;  // it was closed by its owner
  }
}

// Out of descriptors or memory. The listener stays readable, so that waiting for it would spin.
void Listener::pause(const Error& why) {
  if (!std::exchange(paused_, true)) {
    log::warning("port.accept_paused", {{"reason", why.text},
                                        {"retry_ms", kAcceptPause.count()},
                                        {"action", "new connections wait in the backlog"}});
  }
  watch_.set_interest(Interest::kNothing);
  again_ = loop_.after(kAcceptPause, [this] {
    watch_.set_interest(Interest::kRead);
    on_acceptable();
  });
}

}  // namespace muster
