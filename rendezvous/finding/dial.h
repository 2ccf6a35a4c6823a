// Dial: one attempt to connect to a candidate: look its name up afresh, then try its addresses one
// after the other. Does not repeat itself and does not speak on the connection.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/finding/reachability.h"

namespace muster::rendezvous {

/// Of one attempt; the rest of a longer answer is not tried.
inline constexpr size_t kMaxAddressesTried = 8;

struct DialTimeouts {
  Duration lookup = std::chrono::seconds(5);
  Duration connect =
      std::chrono::seconds(3);  ///< for each address: a lost SYN is repeated after 1 s
};

struct DialAnswer {
  Reachability state = Reachability::kNoAnswer;  ///< kReached: connected
  UniqueFd socket;                               ///< open only when reached
  Address address;                               ///< the one that was reached
  std::string reason;  ///< why not, for messages: "connect 10.0.0.7:29400: Connection refused"
};
using DialCallback = std::function<void(DialAnswer)>;

/// Of a lookup that found nothing; kFound is a bug.
[[nodiscard]] Reachability state_of_failed(LookupStatus status);

/// What the addresses of one name came to together. kRefused (which means: it is dead) only when no
/// address may still be alive: every one refused, or cannot be reached from here for want of its
/// whole family. kUnreachable: none can, so nothing was learned.
[[nodiscard]] Reachability verdict_of(const std::vector<int>& errnos);

class Dial {
 public:
  /// Begins. Everything but `candidate` and `done` is borrowed for the life of the object. `done`
  /// is called once, never before the constructor returns, and may destroy the Dial. Destroying it
  /// earlier cancels.
  Dial(Loop& loop, Resolver& resolver, Network& network, const Candidate& candidate,
       const DialTimeouts& timeouts, DialCallback done);
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

 private:
  void on_addresses(LookupAnswer answer);
  void try_next();
  void on_writable();
  void on_failed_address(const Error& error);
  void finish(Reachability state, std::string reason);

  Loop& loop_;
  Network& network_;
  uint16_t port_;
  DialTimeouts timeouts_;
  DialCallback done_;
  DialAnswer answer_;
  std::vector<std::string> hosts_;
  size_t next_host_ = 0;
  std::vector<int> errnos_;  // of the addresses that failed
  Lookup lookup_;
  UniqueFd socket_;
  Watch watch_;  // after socket_, so that it goes first
  Timer timer_;
};

}  // namespace muster::rendezvous
