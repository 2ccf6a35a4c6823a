// JobPort: the one port of a job. Accepts connections, tells from their first bytes which protocol
// each speaks and hands them to whoever serves it. A new protocol is a case of detect_protocol()
// and a call of serve(); nothing else here changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/fd.h"
#include "base/listener.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"
#include "base/strangers.h"

namespace muster::rendezvous {

enum class Protocol : uint8_t {
  kUndecided,     ///< more bytes are needed
  kUnknown,       ///< none of these
  kStoreCurrent,  ///< TCPStore of PyTorch 2.2 and later: VALIDATE, `00 CE F7 85 3C`
  kStoreLegacy,   ///< TCPStore of PyTorch 1.13 and 2.0: op codes 0..8
  kXgboost,       ///< XGBoost's tracker: magic 0xff99 as a little-endian int
  kHttp,          ///< a key-value store over HTTP: a method in capitals
  kControl,       ///< our agents: 4-byte big-endian length, then '{'
  kTls,           ///< our agents with a job secret: a TLS handshake record
  kCommands,      ///< what other nodes run here: "MRSH"
};

/// "torch store", "HTTP", ...
[[nodiscard]] std::string_view to_string(Protocol protocol);

/// The longest run of first bytes that can still be undecided, plus one.
inline constexpr size_t kMaxUndecidedBytes = 8;

/// What a connection that begins with `bytes` speaks. Pure; more bytes never change a decision, and
/// kMaxUndecidedBytes always decide.
[[nodiscard]] Protocol detect_protocol(std::string_view bytes);

/// A connection that has not sent enough to be told apart is kept open silently and without a
/// deadline: PyTorch 1.13 opens a second one per store that never sends anything. Those, and the
/// connections to our agents until they have proved who they are, are strangers (base/strangers.h).
class JobPort {
 public:
  /// Takes over a connection together with what was already read from it (at least the deciding
  /// bytes). It has a place among the strangers if its protocol lets it prove who it is. Called
  /// from the loop; must not destroy the JobPort.
  using Handler = std::function<void(Arrival arrival)>;

  /// Both are borrowed and must outlive the port.
  JobPort(Loop& loop, Network& network)
      : loop_(loop),
        strangers_(loop),
        listener_(loop, network, [this](UniqueFd connection) { look_at(std::move(connection)); }) {}
  JobPort(const JobPort&) = delete;
  JobPort& operator=(const JobPort&) = delete;

  /// From now on connections of this protocol go to `handler`. Those of a protocol without one are
  /// closed with a `port.client_dropped` line.
  void serve(Protocol protocol, Handler handler);

  /// As Listener::listen(). Call it before workers are started: PyTorch's clients retry a refused
  /// connection only after 250-750 ms.
  Result<Address> listen(const Address& address) { return listener_.listen(address); }

  /// Stops accepting and closes all connections that are not handed over yet.
  void close();

  /// Connections that have not told yet what they speak.
  [[nodiscard]] size_t undecided() const { return undecided_.size(); }

 private:
  struct Undecided {
    UniqueFd fd;
    Watch watch;  // after fd: unregistered before it is closed
    std::string bytes;
    Strangers::Place place;
  };

  void look_at(UniqueFd connection);
  void keep(UniqueFd connection, std::string bytes);
  void on_readable(uint64_t id);
  void drop(uint64_t id, const std::string& reason);
  void hand_over(Protocol protocol, Arrival arrival);
  void log_dropped(int fd, std::string_view reason, std::string_view bytes);

  Loop& loop_;
  std::map<Protocol, Handler> handlers_;
  Strangers strangers_;
  Listener listener_;
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, Undecided> undecided_;
};

}  // namespace muster::rendezvous
