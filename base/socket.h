// Numeric addresses and stream sockets. No name is ever resolved here. The Network door lets tests
// listen and dial without ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

/// A numeric IPv4 or IPv6 host with a port. Text: "127.0.0.1:29400", "[::1]:29400".
struct Address {
  std::string host;  ///< numeric, without brackets; "" only in an unset address
  uint16_t port = 0;
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] bool is_loopback() const;
  friend bool operator==(const Address&, const Address&) = default;
};

/// "127.0.0.1" or "::1" or "[::1]". None: not numeric.
[[nodiscard]] std::optional<std::string> parse_numeric_host(std::string_view text);

/// Sockets handed out are non-blocking, close-on-exec, TCP_NODELAY.
class Network {
 public:
  virtual ~Network() = default;
  /// Listens on `address`; host "::" means every interface of both families (IPv4 only where IPv6
  /// is off), port 0 lets the kernel choose. SO_REUSEADDR; backlog = somaxconn. kOs: EADDRINUSE,
  /// EADDRNOTAVAIL, EACCES.
  virtual Result<UniqueFd> listen(const Address& address) = 0;
  /// Begins to connect; the socket becomes writable when it is done (socket_error() tells how it
  /// went). kOs: refused at once.
  virtual Result<UniqueFd> connect(const Address& address) = 0;
  /// The next connection waiting at `listener`. kOs; os_errno EAGAIN = none now, EMFILE/ENFILE = no
  /// descriptors left.
  virtual Result<UniqueFd> accept(int listener) = 0;
  /// The address a socket is bound to.
  virtual Result<Address> local_address(int socket) = 0;
};

class RealNetwork final : public Network {
 public:
  Result<UniqueFd> listen(const Address& address) override;
  Result<UniqueFd> connect(const Address& address) override;
  Result<UniqueFd> accept(int listener) override;
  Result<Address> local_address(int socket) override;
};

/// A peer whose host is gone without a word is given up after about two minutes; one that
/// acknowledges nothing (or reads nothing) while we have bytes for it, after five. Far longer than
/// the network cuts that training survives: whether a node is dead is the leader's verdict, not
/// TCP's.
inline constexpr int kKeepAliveIdleSeconds = 60;
inline constexpr int kKeepAliveIntervalSeconds = 15;
inline constexpr int kKeepAliveProbes = 4;
inline constexpr int kUserTimeoutMs = 300'000;
/// Sets these four. Best effort: without them a dead peer is noticed later, nothing else.
void notice_dead_peers(int socket);

/// Outcome of a connect to `peer`: success, or the error as kOs/kPeer, which names it. Clears the
/// socket's pending error.
Status socket_error(int socket, std::string_view peer);

/// The address of this machine from which `peer` would be dialled. Sends nothing. kOs: no route.
Result<std::string> source_host(const Address& peer);

/// The other end's address; kOs when it is gone.
Result<Address> peer_address(int socket);

/// Sends of `bytes` as much as a stream socket takes at once, and removes that: what is left waits
/// until it is writable. kOs: it failed, mostly as nobody is there any more; `bytes` stay.
Status send_some(int socket, std::string& bytes);

}  // namespace muster
