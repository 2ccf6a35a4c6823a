#include "launcher/local/doorway.h"

#include <utility>

namespace muster::launcher {

Result<std::unique_ptr<Doorway>> Doorway::make(Loop& loop, Network& network, const Address& address,
                                               Dial dial) {
  std::unique_ptr<Doorway> door(new Doorway(loop, network, std::move(dial)));
  auto listener = network.listen(address);
  if (!listener) return std::move(listener).error().with_context(address.to_string());
  door->listener_ = std::move(*listener);
  auto watch = loop.watch(door->listener_.get(), Interest::kRead,
                          [self = door.get()](Ready) { self->accept_all(); });
  if (!watch) return std::move(watch).error();
  door->watch_ = std::move(*watch);
  return door;
}

Doorway::Doorway(Loop& loop, Network& network, Dial dial)
    : loop_(loop), network_(network), dial_(std::move(dial)) {}

void Doorway::accept_all() {
  // Relays do not tell when they are over. Few people ask, so looking now is soon enough.
  std::erase_if(relays_, [](const auto& relay) { return relay->is_over(); });
  for (;;) {
    auto client = network_.accept(listener_.get());
    if (!client) return;  // none waits, or no descriptors are left: the next turn tries again
    auto agent = dial_();
    if (!agent) continue;
    auto relay = std::make_unique<mpi::ByteRelay>(loop_, std::move(*client), std::move(*agent),
                                                  mpi::ByteRelayHooks{});
    if (relay->start()) relays_.push_back(std::move(relay));
  }
}

}  // namespace muster::launcher
