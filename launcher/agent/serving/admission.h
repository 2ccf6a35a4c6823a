// Admission: whose connections may reach what the job port serves to frameworks. Their protocols
// cannot authenticate, so the address has to do: only nodes of the round, and this machine. Control
// connections are not asked; a job secret protects those.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ip_network.h"
#include "base/loop.h"
#include "base/socket.h"

namespace muster::launcher {

/// A stranger that tries again and again is told about so often.
inline constexpr Duration kRefusalLineEvery = std::chrono::seconds(10);

class Admission {
 public:
  /// `loop` is borrowed.
  explicit Admission(Loop& loop) : loop_(loop) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Numeric addresses of the nodes of the round that begins. Before the first one everybody may
  /// come.
  void set_members(std::set<std::string> hosts) { members_ = std::move(hosts); }
  /// Others that may come besides the members (--admit).
  void set_networks(std::vector<IpNetwork> networks) { networks_ = std::move(networks); }
  /// Loopback, members and networks. Pure.
  [[nodiscard]] bool admits(const std::string& host) const;
  /// Whether a connection comes from a member's machine, or on this one from our own user or root.
  /// `own` is our end. Asks the kernel. Before the first round those of this machine alone are
  /// known.
  [[nodiscard]] bool knows(int socket, const Address& own) const;
  /// As admits(host) for a connection; one that is refused is logged (`store.client_refused`).
  [[nodiscard]] bool admits(int socket);

 private:
  Loop& loop_;
  std::optional<std::set<std::string>> members_;  // none = no round yet
  std::vector<IpNetwork> networks_;
  TimePoint quiet_until_;
  size_t untold_ = 0;
};

}  // namespace muster::launcher
