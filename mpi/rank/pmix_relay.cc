#include "mpi/rank/pmix_relay.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster::mpi {

namespace {

// Of the versions that a client looks for (pmix ptl_base_connect.c, 3.2 to 6.0).
constexpr std::array<const char*, 6> kNames = {"PMIX_SERVER_URI2",  "PMIX_SERVER_URI21",
                                               "PMIX_SERVER_URI3",  "PMIX_SERVER_URI4",
                                               "PMIX_SERVER_URI41", "PMIX_SERVER_URI5"};
constexpr std::string_view kScheme = ";tcp4://";
// A rank has one, and so may what it starts.
constexpr size_t kMostConnections = 64;

}  // namespace

std::optional<Address> pmix_server(const Environment& environment) {
  std::optional<Address> server;
  for (const char* name : kNames) {
    const auto uri = environment.get(name);
    if (!uri) continue;
    const size_t at = uri->find(kScheme);
    const size_t colon = uri->rfind(':');
    if (at == std::string_view::npos || colon < at + kScheme.size()) return std::nullopt;
    const size_t begin = at + kScheme.size();
    const auto port = parse_integer(uri->substr(colon + 1));
    if (!port || *port < 1 || *port > UINT16_MAX) return std::nullopt;
    const Address address{std::string(uri->substr(begin, colon - begin)),
                          static_cast<uint16_t>(*port)};
    if (!address.is_loopback() || (server && *server != address)) return std::nullopt;
    server = address;
  }
  return server;
}

void set_pmix_server(Environment& environment, const Address& address) {
  for (const char* name : kNames) {
    const auto uri = environment.get(name);
    const size_t at = uri ? uri->find(kScheme) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    environment.set(name, std::string(uri->substr(0, at + kScheme.size())) + address.to_string());
  }
}

Result<std::unique_ptr<PmixRelay>> PmixRelay::create(Loop& loop, Network& network, Address daemon,
                                                     std::function<void()> began) {
  auto listener = network.listen({"127.0.0.1", 0});
  if (!listener) return std::move(listener).error();
  auto address = network.local_address(listener->get());
  if (!address) return std::move(address).error();
  std::unique_ptr<PmixRelay> relay(
      new PmixRelay(loop, network, std::move(daemon), std::move(began)));
  relay->listener_ = std::move(*listener);
  relay->address_ = std::move(*address);
  auto watch = loop.watch(relay->listener_.get(), Interest::kRead,
                          [it = relay.get()](Ready) { it->take(); });
  if (!watch) return std::move(watch).error();
  relay->watch_ = std::move(*watch);
  return relay;
}

// A connection that cannot be passed on is closed, which the rank understands.
void PmixRelay::take() {
  std::erase_if(relays_, [](const auto& relay) { return relay->is_over(); });
  for (;;) {
    auto rank = network_.accept(listener_.get());
    if (!rank) return;
    begun_ = true;
    if (began_) std::exchange(began_, {})();
    auto daemon = network_.connect(daemon_);
    if (!daemon || relays_.size() >= kMostConnections) continue;
    auto relay = std::make_unique<ByteRelay>(loop_, std::move(*rank), std::move(*daemon),
                                             ByteRelayHooks{.said = {}, .may_tell_end = {}});
    if (relay->start()) relays_.push_back(std::move(relay));
  }
}

void PmixRelay::drain() {
  take();
  for (const auto& relay : relays_) relay->drain();
}

}  // namespace muster::mpi
