#include "launcher/local/proxy_network.h"

#include <fmt/core.h>

namespace muster::launcher {

namespace {

// Where node `from` dials candidate `to`.
std::string proxy_host(int from, int to) { return fmt::format("127.1.{}.{}", from, to); }

}  // namespace

Status ProxyNetwork::prepare(int node) {
  for (int candidate = 1; candidate <= candidates_; ++candidate) {
    if (candidate == node || proxies_.contains({node, candidate})) continue;
    auto proxy =
        std::make_unique<StreamProxy>(loop_, network_, Address{proxy_host(node, candidate), port_},
                                      Address{host_of(candidate), port_});
    // Agents are started in their order: those that come later are there in a moment.
    MUSTER_RETURN_IF_ERROR(proxy->set_alive(alive_.contains(candidate) || candidate > node));
    proxies_[{node, candidate}] = std::move(proxy);
  }
  return {};
}

std::string ProxyNetwork::host(int from, int to) const {
  return proxies_.contains({from, to}) ? proxy_host(from, to) : host_of(to);
}

Status ProxyNetwork::set_alive(int node, bool alive) {
  if (alive) alive_.insert(node);
  if (!alive) alive_.erase(node);
  for (const auto& [ends, proxy] : proxies_) {
    if (ends.second == node) MUSTER_RETURN_IF_ERROR(proxy->set_alive(alive));
  }
  return {};
}

Result<bool> ProxyNetwork::cut(const std::vector<int>& side) {
  bool any = false;
  for (const auto& [ends, proxy] : proxies_) {
    if (!is_parted(side, ends.first, ends.second)) continue;
    MUSTER_RETURN_IF_ERROR(proxy->set_cut(true));
    any = true;
  }
  return any;
}

Status ProxyNetwork::heal() {
  for (const auto& [ends, proxy] : proxies_) MUSTER_RETURN_IF_ERROR(proxy->set_cut(false));
  return {};
}

}  // namespace muster::launcher
