// LocalLink: two links that are each other's ends, in one process and without a socket: the node
// that leads is a member of its own job. Same order of events as over a network, no bytes.
#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "rendezvous/wire/link.h"

namespace muster::rendezvous {

/// Either end may be destroyed first; to the other that is a peer that closed.
struct LocalLinkPair {
  std::unique_ptr<Link> dialer;
  std::unique_ptr<Link> acceptor;
};

/// Both open in the next turn or the end of this one. `loop` is borrowed for the life of both.
/// `name` is what peer() says on either end. A message arrives as it was sent, uncut, at the latest
/// in the next turn.
[[nodiscard]] LocalLinkPair make_local_link(Loop& loop, const std::string& name,
                                            LinkHandlers dialer, LinkHandlers acceptor);

}  // namespace muster::rendezvous
