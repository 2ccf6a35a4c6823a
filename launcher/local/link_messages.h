// The messages to the kernel that join network namespaces: links, addresses, routes, rules. Pure:
// it sends nothing. IPv4 only, as the nodes of `muster local` have loopback addresses. Source:
// rtnetlink(7), veth(4); linux/if_link.h, linux/fib_rules.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/netlink.h"

namespace muster::launcher {

/// One end of a pair of links, which works like a cable. `index` is ours to choose; 1 is taken by
/// "lo".
struct LinkEnd {
  std::string name;
  int index = 0;
};
/// The other end lies in the network namespace that `peer_space` is a descriptor of.
[[nodiscard]] NetlinkMessage make_link(const LinkEnd& end, const LinkEnd& peer, int peer_space);

/// Switches the link on and lets packets through: also packets to and from 127.0.0.0/8
/// (route_localnet) and packets that are forwarded for others.
[[nodiscard]] NetlinkMessage open_link(int index);
/// Only switches the link on.
[[nodiscard]] NetlinkMessage raise_link(int index);

/// `host`, numeric, for this end alone (/32).
[[nodiscard]] NetlinkMessage add_address(int index, const std::string& host);

/// `gateway`: none = the hosts are at the other end of the link. `from`: the sender's address.
/// `local`: the route stands in the table that the kernel looks at first, before its own entry that
/// keeps 127.0.0.0/8 on this host.
struct LinkRoute {
  std::string network;
  int bits = 32;
  int link = 0;
  std::optional<std::string> gateway = {};
  std::string from;
  bool local = false;
};
[[nodiscard]] NetlinkMessage add_route(const LinkRoute& route);

/// Packets that came in by `link` are looked up in `table` first, which is empty at first.
[[nodiscard]] NetlinkMessage add_table(const std::string& link, uint32_t table);
/// With `on`, packets to `host` that are looked up in `table` are dropped without a word.
[[nodiscard]] NetlinkMessage set_blackhole(uint32_t table, const std::string& host, bool on);

}  // namespace muster::launcher
