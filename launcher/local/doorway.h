// Doorway: an address of this machine at which a node in a network namespace can be asked, so that
// `muster status` and `muster scale` find the agents of `muster local`. Passes bytes on; knows no
// protocol.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"
#include "mpi/rank/byte_relay.h"

namespace muster::launcher {

class Doorway {
 public:
  /// Begins to connect to the agent, as Network::connect does. A connection whose dial fails is
  /// closed, also when no agent runs there.
  using Dial = std::function<Result<UniqueFd>()>;

  /// Listens at `address`. `loop` and `network` are borrowed for the life of the doorway. kOs.
  static Result<std::unique_ptr<Doorway>> make(Loop& loop, Network& network, const Address& address,
                                               Dial dial);
  Doorway(const Doorway&) = delete;
  Doorway& operator=(const Doorway&) = delete;

 private:
  Doorway(Loop& loop, Network& network, Dial dial);
  void accept_all();

  Loop& loop_;
  Network& network_;
  Dial dial_;
  UniqueFd listener_;
  Watch watch_;  // after listener_: unregistered before it is closed
  std::vector<std::unique_ptr<mpi::ByteRelay>> relays_;
};

}  // namespace muster::launcher
