// ProxyNetwork: nodes on loopback addresses, with a proxy between each node and those that may
// lead. Cuts what agents say to each other. Needs no privilege; workers' own connections do not
// know of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"
#include "launcher/local/node_network.h"
#include "launcher/local/stream_proxy.h"

namespace muster::launcher {

class ProxyNetwork final : public NodeNetwork {
 public:
  /// `candidates`: nodes 1 to that number may lead. `port`: of all agents. Borrowed for its life.
  ProxyNetwork(Loop& loop, Network& network, int candidates, uint16_t port)
      : loop_(loop), network_(network), candidates_(candidates), port_(port) {}

  Status prepare(int node) override;
  [[nodiscard]] std::string host(int from, int to) const override;
  void place(int /*node*/, SpawnRequest& /*agent*/) const override {}
  Status set_alive(int node, bool alive) override;
  Result<bool> cut(const std::vector<int>& side) override;
  Status heal() override;

 private:
  Loop& loop_;
  Network& network_;
  const int candidates_;
  const uint16_t port_;
  std::set<int> alive_;
  std::map<std::pair<int, int>, std::unique_ptr<StreamProxy>> proxies_;  // (who dials, whom)
};

}  // namespace muster::launcher
