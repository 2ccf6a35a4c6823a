// What nodes and the leader say in an exchange (exchange.h), as plain values (control_messages.h
// has all messages).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace muster::rendezvous {

/// Part of what this node gives to an exchange (exchange.h); parts come in order.
struct Contribution {
  uint64_t round = 0;
  uint64_t sequence = 0;
  uint64_t offset = 0;  ///< of `data` in all that it gives; 0 begins anew
  std::string data;     ///< any bytes, at most kMaxExchangeChunkBytes
  bool last = false;
};
/// Part of what all nodes gave to an exchange (exchange.h): by node rank a 4-byte big-endian length
/// and that many bytes. Or, with the last part, `problem`: why there is no answer.
struct Exchanged {
  uint64_t round = 0;
  uint64_t sequence = 0;
  uint64_t offset = 0;
  std::string data;
  bool last = false;
  std::string problem;
};
/// A whole answer in its parts, never null or empty. Shared, because thousands of links send the
/// same one, each at the pace of its peer, and it lives until the last of them is done with it.
using ExchangeAnswer = std::shared_ptr<const std::vector<Exchanged>>;

}  // namespace muster::rendezvous
