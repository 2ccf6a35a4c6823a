// NamespaceNetwork: the network between the nodes of `muster local` when --chaos is to cut it. Each
// node has a network namespace of its own. One more namespace, the hub, passes packets on between
// them and drops them by blackhole routes where --chaos cuts. So the workers' own connections are
// cut, too. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN (root), no tool, and leaves nothing behind.
//
//   node k:  eth0  127.0.1.k, all of 127.0.1.0/24 by way of 127.0.1.254; lo as everywhere
//   hub:     vK    127.0.1.254, 127.0.1.k behind it; what comes in here is looked up in table
//                  1000 + k first: empty, or with blackholes
//   outside: 127.0.1.k:PORT is passed on to the node's agent (doorway.h), so that `muster status`
//            finds it
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/netlink.h"
#include "base/process.h"
#include "base/socket.h"
#include "launcher/local/doorway.h"

namespace muster::launcher {

/// The address of node k (1 = the first), in namespaces, without them, and from outside.
inline std::string host_of(int node) { return fmt::format("127.0.1.{}", node); }

/// The link by which a node reaches the others.
inline constexpr const char* kNodeLink = "eth0";

class NamespaceNetwork {
 public:
  /// Makes the hub and nodes 1 to `nodes`. `port`: of all agents. `loop` and `network` are borrowed
  /// for its life. kOs: not allowed, or the kernel lacks something (veth, policy routing).
  static Result<std::unique_ptr<NamespaceNetwork>> make(Loop& loop, Network& network, int nodes,
                                                        uint16_t port);
  NamespaceNetwork(const NamespaceNetwork&) = delete;
  NamespaceNetwork& operator=(const NamespaceNetwork&) = delete;

  /// Makes the node's namespace, if there is none yet. A node that joins while the network is cut
  /// is cut off like the others. kOs.
  Status prepare(int node);
  /// Puts the agent of a prepared node, which is about to be started, into its namespace.
  void place(int node, SpawnRequest& agent) const;
  /// Nothing passes between these nodes and all others any more, and nobody is told. False: all
  /// nodes are on one side. kOs.
  Result<bool> cut(const std::vector<int>& side);
  /// Everything passes again. kOs.
  Status heal();

 private:
  struct Host {
    UniqueFd space;
    std::unique_ptr<Doorway> door;  // from outside
  };

  NamespaceNetwork(Loop& loop, Network& network, uint16_t port, UniqueFd home, UniqueFd hub,
                   NetlinkSocket hub_links);
  [[nodiscard]] Status join(int node, int space) const;
  [[nodiscard]] Result<UniqueFd> dial(const Address& agent) const;
  [[nodiscard]] Status set_blackholes(int one, int other, bool on) const;

  Loop& loop_;
  Network& network_;
  const uint16_t port_;
  const UniqueFd home_;  // the namespace of this process
  const UniqueFd hub_;
  const NetlinkSocket hub_links_;
  std::map<int, Host> hosts_;
  std::vector<std::vector<int>> cuts_;
};

/// Whether a cut with `side` on one side lies between two nodes.
[[nodiscard]] bool is_parted(const std::vector<int>& side, int one, int other);

}  // namespace muster::launcher
