// The ping-pong of muster-probe: small messages to and fro, then as much as goes for a moment in
// each direction, over a provider of libfabric. With libfabric's own fi_pingpong (fabtests) it
// shares the idea; this one also finds the interface and says where time was lost.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"
#include "nccl/probe/command_line.h"

namespace muster::probe {

/// The providers to try, in this order. `wanted`: as the user names it; one that has reliable
/// messages only with ofi_rxm's help is tried with it. "" = those that reach other nodes, the
/// fastest first. Pure.
[[nodiscard]] std::vector<std::string> provider_choice(std::string_view wanted);

/// Is `offered` what somebody means by `wanted`? "" means everything. Pure.
[[nodiscard]] bool is_provider(std::string_view wanted, std::string_view offered);

/// May somebody else choose it for us? Only what training jobs use: any other name is for the user
/// to say, because the mere look for a provider may touch hardware. Pure.
[[nodiscard]] bool is_usual_provider(std::string_view provider);

/// Of the side that calls: {"provider", "domain", "peer_domain", "latency_us": {"p50", "p99"},
/// "bytes_per_s", "bytes_per_s_to_peer", "bytes_per_s_from_peer"}, the first rate being the lower
/// one. Of the side that is called without latency and the rate to the peer. {"libfabric":
/// {"absent": why}} without the library. kPeer, kTimeout, kConfig, kProtocol, kLimit, kOs.
Result<nlohmann::json> ping_pong(const ProbeCall& call, const Environment& environment,
                                 TimePoint deadline);

}  // namespace muster::probe
