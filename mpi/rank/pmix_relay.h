// PmixRelay: stands between a rank of Open MPI and the PMIx server of its daemon. It passes
// everything on as it is and notes whether the rank began with MPI: a rank begins by connecting.
// Open MPI waits for ever in MPI_Init for a rank that has ended without. Part of every build, also
// of one without PMIx of our own (MUSTER_PMIX): it knows nothing of PMIx but where a server is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/environment.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"
#include "mpi/rank/byte_relay.h"

namespace muster::mpi {

/// Where the daemon listens, by PMIX_SERVER_URI and its namesakes of PMIx 2 to 6
/// ("NAMESPACE.RANK;tcp4://127.0.0.1:PORT"). None: there is no such variable, they do not agree, or
/// it is no loopback address.
[[nodiscard]] std::optional<Address> pmix_server(const Environment& environment);
/// All of them, with `address` in place of the daemon's.
void set_pmix_server(Environment& environment, const Address& address);

class PmixRelay {
 public:
  /// Listens on loopback for the rank. Borrows loop and network. kOs, kLimit.
  static Result<std::unique_ptr<PmixRelay>> create(Loop& loop, Network& network, Address daemon,
                                                   std::function<void()> began);
  PmixRelay(const PmixRelay&) = delete;
  PmixRelay& operator=(const PmixRelay&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] bool has_begun() const { return begun_; }
  /// The rank has ended: notes that it came, and passes on what it still said.
  void drain();

 private:
  PmixRelay(Loop& loop, Network& network, Address daemon, std::function<void()> began)
      : loop_(loop), network_(network), daemon_(std::move(daemon)), began_(std::move(began)) {}
  void take();

  Loop& loop_;
  Network& network_;
  Address daemon_;
  Address address_;              // ours
  std::function<void()> began_;  // once
  bool begun_ = false;
  UniqueFd listener_;
  std::vector<std::unique_ptr<ByteRelay>> relays_;
  Watch watch_;  // after the listener
};

}  // namespace muster::mpi
