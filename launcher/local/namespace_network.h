// NamespaceNetwork: each node in a network namespace of its own, joined by one more that passes
// packets on and drops them where --chaos cuts: blackhole routes. So the workers' own connections
// are cut, too. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN (root), no tool, and leaves nothing behind.
//
//   node k:  eth0  127.0.1.k, all of 127.0.1.0/24 by way of 127.0.1.254; lo as everywhere
//   hub:     vK    127.0.1.254, 127.0.1.k behind it; what comes in here is looked up in table
//                  1000 + k first: empty, or with blackholes
//   outside: 127.0.1.k:PORT is passed on to the node's agent, so that `muster status` finds it
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/netlink.h"
#include "base/socket.h"
#include "launcher/local/node_network.h"
#include "launcher/local/stream_proxy.h"

namespace muster::launcher {

/// The link by which a node reaches the others.
inline constexpr const char* kNodeLink = "eth0";

class NamespaceNetwork final : public NodeNetwork {
 public:
  /// Makes the hub and nodes 1 to `nodes`. `port`: of all agents. `loop` and `network` are borrowed
  /// for its life. kOs: not allowed, or the kernel lacks something (veth, policy routing).
  static Result<std::unique_ptr<NamespaceNetwork>> make(Loop& loop, Network& network, int nodes,
                                                        uint16_t port);

  ~NamespaceNetwork() override;
  Status prepare(int node) override;
  [[nodiscard]] std::string host(int /*from*/, int to) const override { return host_of(to); }
  void place(int node, SpawnRequest& agent) const override;
  Status set_alive(int node, bool alive) override;
  Result<bool> cut(const std::vector<int>& side) override;
  Status heal() override;

 private:
  // Listens outside, dials from the hub.
  class Doorway;
  struct Host {
    UniqueFd space;
    std::unique_ptr<StreamProxy> door;  // from outside
  };

  NamespaceNetwork(Loop& loop, Network& network, uint16_t port, UniqueFd home, UniqueFd hub,
                   NetlinkSocket hub_links);
  [[nodiscard]] Status join(int node, int space) const;
  [[nodiscard]] Status set_blackholes(int one, int other, bool on) const;

  Loop& loop_;
  const uint16_t port_;
  const UniqueFd home_;  // where we are
  const UniqueFd hub_;
  const NetlinkSocket hub_links_;
  std::unique_ptr<Doorway> doorway_;
  std::map<int, Host> hosts_;
  std::vector<std::vector<int>> cuts_;
};

}  // namespace muster::launcher
