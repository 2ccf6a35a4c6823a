// PairExchange: what two nodes do to measure the way between them: some small messages to and fro,
// then as much as goes for a moment in each direction, over plain TCP. One calls, the other serves.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/socket.h"
#include "base/timed_stream.h"

namespace muster::nccl {

inline constexpr size_t kPairTokenBytes = 16;
inline constexpr int kPairPings = 200;  ///< of 8 bytes each
inline constexpr int kMaxPairStrangers =
    1000;  ///< calls that are not of the pair, then it gives up

/// How one measurement goes. `token`: the same on all nodes, kPairTokenBytes; calls without it are
/// of somebody else. `flow`: how long data goes in each direction.
struct PairExchange {
  std::string token;
  Duration flow = std::chrono::milliseconds(300);
  TimePoint deadline;
};

struct PairMeasure {
  double latency_us = 0;        ///< half of a round trip, the median
  double bytes_per_second = 0;  ///< of the slower direction
};

/// The side that calls. kTimeout, kPeer, kProtocol.
Result<PairMeasure> call_pair(const Address& peer, const PairExchange& exchange);
/// The side that is called, at `listener`. It learns nothing but whether it went well.
Status serve_pair(int listener, const PairExchange& exchange);

}  // namespace muster::nccl
