// PeerLink: what two muster-probes say to each other over plain TCP while they measure another
// way: where their endpoints are, when to begin, what came out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "base/socket.h"
#include "base/timed_stream.h"

namespace muster::probe {

inline constexpr size_t kMaxLinkMessageBytes = 4096;  ///< an address, and the words of an error

class PeerLink {
 public:
  /// Waits until the other side listens, which may start later. kTimeout, kOs.
  static Result<PeerLink> call(const Address& peer, TimePoint deadline);
  /// The first that calls at `port` and is a muster-probe; others are sent away. The port goes to
  /// stderr as "muster-probe: listening on port 40123". kTimeout, kOs.
  static Result<PeerLink> await(uint16_t port, TimePoint deadline);

  /// One object. kPeer, kTimeout.
  Status tell(const nlohmann::json& message);
  /// The next object of the other side. kPeer: it is gone, or has told {"problem": why}; kTimeout,
  /// kProtocol, kLimit.
  Result<nlohmann::json> hear();
  /// "Go on": both have come so far. Errors as above.
  Status signal();
  Status await_signal();
  [[nodiscard]] Result<Address> local_address() const { return stream_.local_address(); }

 private:
  PeerLink(TimedStream stream, TimePoint deadline)
      : stream_(std::move(stream)), deadline_(deadline) {}

  TimedStream stream_;
  TimePoint deadline_;
};

}  // namespace muster::probe
