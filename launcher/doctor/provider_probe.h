// ProviderProbe: the way between two nodes over a provider of libfabric, which muster-probe
// measures, one on each side. Each runs in a child that is killed when its time is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/socket.h"
#include "launcher/doctor/library_probe.h"
#include "nccl/pairs/pair_exchange.h"

namespace muster::launcher {

/// The side that calls. `peer`: where the other one listens. Blocks for at most `limit`, and as
/// much as a child needs to end. kPeer: what muster-probe complains of; kTimeout, kOs.
Result<nccl::PairMeasure> call_over_provider(const ProbeProgram& program,
                                             const std::string& provider, const Address& peer,
                                             Duration limit);

/// Tells the other side the port, or why there is none.
using TellPort = std::function<Status(const Result<uint16_t>& port)>;

/// The side that listens, until the other one has measured; as long as call_over_provider(). `tell`
/// is called once, as soon as it listens. What goes wrong then the other side sees as well: an
/// error is one of `tell`.
Status serve_over_provider(const ProbeProgram& program, const std::string& provider, Duration limit,
                           const TellPort& tell);

}  // namespace muster::launcher
