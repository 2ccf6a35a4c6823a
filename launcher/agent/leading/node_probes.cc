#include "launcher/agent/leading/node_probes.h"

#include <cstdint>
#include <utility>

namespace muster::launcher {

using rendezvous::DialResult;

void NodeProbes::dial(const rendezvous::NodeDial& dial) {
  // The host came over the network: a name is not resolved here.
  const auto host = parse_numeric_host(dial.host);
  if (!host || dial.port < 1 || dial.port > UINT16_MAX)
    return done_(dial.dial, DialResult::kNoAnswer);
  probes_[dial.dial] = std::make_unique<rendezvous::DialProbe>(
      loop_, network_, Address{*host, static_cast<uint16_t>(dial.port)},
      [this, id = dial.dial](DialResult result) {
        over_.push_back(id);
        done_(id, result);
      });
}

void NodeProbes::sweep() {
  for (const auto id : std::exchange(over_, {})) probes_.erase(id);
}

}  // namespace muster::launcher
