#include "launcher/local/namespace_network.h"

#include <fmt/core.h>
#include <linux/netlink.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/local/link_messages.h"
#include "launcher/local/network_namespace.h"

namespace muster::launcher {

namespace {

constexpr const char* kHubHost = "127.0.1.254";  // above kMaxLocalNodes
constexpr const char* kNodesNetwork = "127.0.1.0";
constexpr int kNodesBits = 24;
constexpr int kLoopbackIndex = 1;
constexpr int kNodeIndex = 2;           // of eth0
constexpr uint32_t kFirstTable = 1000;  // away from the kernel's own, 253 to 255

// A worker's library takes the address of the machine's name, which no node has here, or falls back
// to 127.0.0.1, which is each node's own.
constexpr std::string_view kLinkVariables[] = {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME",
                                               "TP_SOCKET_IFNAME"};

std::string hub_link(int node) { return fmt::format("v{}", node); }
int hub_index(int node) { return node + 1; }
uint32_t table_of(int node) { return kFirstTable + static_cast<uint32_t>(node); }

Result<NetlinkSocket> links_of(int home, int space) {
  std::optional<NetlinkSocket> links;
  MUSTER_RETURN_IF_ERROR(in_namespace(home, space, [&links]() -> Status {
    auto opened = NetlinkSocket::connect(NETLINK_ROUTE);
    if (!opened) return std::move(opened).error();
    links.emplace(std::move(*opened));
    return {};
  }));
  return *std::move(links);
}

}  // namespace

Result<std::unique_ptr<NamespaceNetwork>> NamespaceNetwork::make(Loop& loop, Network& network,
                                                                 int nodes, uint16_t port) {
  auto home = own_namespace();
  if (!home) return std::move(home).error();
  auto hub = new_namespace(home->get());
  if (!hub) return std::move(hub).error();
  auto links = links_of(home->get(), hub->get());
  if (!links) return std::move(links).error();
  std::unique_ptr<NamespaceNetwork> made(new NamespaceNetwork(loop, network, port, std::move(*home),
                                                              std::move(*hub), std::move(*links)));
  for (int node = 1; node <= nodes; ++node) MUSTER_RETURN_IF_ERROR(made->prepare(node));
  return made;
}

NamespaceNetwork::NamespaceNetwork(Loop& loop, Network& network, uint16_t port, UniqueFd home,
                                   UniqueFd hub, NetlinkSocket hub_links)
    : loop_(loop),
      network_(network),
      port_(port),
      home_(std::move(home)),
      hub_(std::move(hub)),
      hub_links_(std::move(hub_links)) {}

Status NamespaceNetwork::prepare(int node) {
  if (hosts_.contains(node)) return {};
  auto space = new_namespace(home_.get());
  if (!space) return std::move(space).error();
  MUSTER_RETURN_IF_ERROR(join(node, space->get()));
  for (const auto& side : cuts_) {
    for (const auto& [other, host] : hosts_) {
      if (is_parted(side, node, other)) MUSTER_RETURN_IF_ERROR(set_blackholes(node, other, true));
    }
  }
  const Address address{host_of(node), port_};
  auto door = Doorway::make(loop_, network_, address, [this, address] { return dial(address); });
  if (!door) return std::move(door).error();
  hosts_[node] = {std::move(*space), std::move(*door)};
  return {};
}

// From the hub, which no partition cuts off from any node.
Result<UniqueFd> NamespaceNetwork::dial(const Address& agent) const {
  UniqueFd socket;
  MUSTER_RETURN_IF_ERROR(in_namespace(home_.get(), hub_.get(), [this, &agent, &socket]() -> Status {
    auto connected = network_.connect(agent);
    if (!connected) return std::move(connected).error();
    socket = std::move(*connected);
    return {};
  }));
  return socket;
}

// The cable between a node and the hub, and both ends of it.
Status NamespaceNetwork::join(int node, int space) const {
  const std::string link = hub_link(node);
  const int index = hub_index(node);
  const std::string host = host_of(node);
  const NetlinkSocket& hub = hub_links_;
  MUSTER_RETURN_IF_ERROR(
      hub.change(make_link({link, index}, {kNodeLink, kNodeIndex}, space), "making a veth pair"));
  MUSTER_RETURN_IF_ERROR(hub.change(open_link(index), "opening " + link));
  MUSTER_RETURN_IF_ERROR(hub.change(add_address(index, kHubHost), "the hub's address"));
  MUSTER_RETURN_IF_ERROR(hub.change(add_route({.network = host, .link = index, .from = kHubHost}),
                                    "the route to " + host));
  MUSTER_RETURN_IF_ERROR(hub.change(add_table(link, table_of(node)), "the rule for " + link));

  auto own = links_of(home_.get(), space);
  if (!own) return std::move(own).error();
  MUSTER_RETURN_IF_ERROR(own->change(raise_link(kLoopbackIndex), "switching lo on"));
  MUSTER_RETURN_IF_ERROR(own->change(open_link(kNodeIndex), "opening eth0"));
  MUSTER_RETURN_IF_ERROR(own->change(add_address(kNodeIndex, host), "the address " + host));
  MUSTER_RETURN_IF_ERROR(
      own->change(add_route({.network = kHubHost, .link = kNodeIndex, .from = host, .local = true}),
                  "the route to the hub"));
  return own->change(add_route({.network = kNodesNetwork,
                                .bits = kNodesBits,
                                .link = kNodeIndex,
                                .gateway = kHubHost,
                                .from = host,
                                .local = true}),
                     "the route to the other nodes");
}

Status NamespaceNetwork::set_blackholes(int one, int other, bool on) const {
  MUSTER_RETURN_IF_ERROR(
      hub_links_.change(set_blackhole(table_of(one), host_of(other), on), "a blackhole route"));
  return hub_links_.change(set_blackhole(table_of(other), host_of(one), on), "a blackhole route");
}

void NamespaceNetwork::place(int node, SpawnRequest& agent) const {
  agent.network_namespace = hosts_.at(node).space.get();
  // The hub must last as long as anybody needs it: agents end in good order also when we are
  // killed.
  agent.kept_fd = hub_.get();
  for (const std::string_view name : kLinkVariables) {
    std::erase_if(agent.environment, [name](const std::string& entry) {
      return entry.starts_with(std::string(name) + "=");
    });
    agent.environment.push_back(fmt::format("{}={}", name, kNodeLink));
  }
}

Result<bool> NamespaceNetwork::cut(const std::vector<int>& side) {
  bool any = false;
  cuts_.push_back(side);
  for (const auto& [one, host] : hosts_) {
    for (auto other = hosts_.upper_bound(one); other != hosts_.end(); ++other) {
      if (!is_parted(side, one, other->first)) continue;
      MUSTER_RETURN_IF_ERROR(set_blackholes(one, other->first, true));
      any = true;
    }
  }
  return any;
}

Status NamespaceNetwork::heal() {
  const auto was_parted = [this](int one, int other) {
    return std::any_of(cuts_.begin(), cuts_.end(),
                       [one, other](const auto& side) { return is_parted(side, one, other); });
  };
  for (const auto& [one, host] : hosts_) {
    for (auto other = hosts_.upper_bound(one); other != hosts_.end(); ++other) {
      if (was_parted(one, other->first))
        MUSTER_RETURN_IF_ERROR(set_blackholes(one, other->first, false));
    }
  }
  cuts_.clear();
  return {};
}

bool is_parted(const std::vector<int>& side, int one, int other) {
  const auto is_inside = [&side](int node) {
    return std::find(side.begin(), side.end(), node) != side.end();
  };
  return is_inside(one) != is_inside(other);
}

}  // namespace muster::launcher
