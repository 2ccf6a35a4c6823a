// What is known of each candidate while a node looks for the others, in the words of the log. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace muster::rendezvous {

/// Outcome of the last attempt to reach a candidate.
enum class Reachability {
  kUnasked,       ///< not dialled yet
  kNoName,        ///< NXDOMAIN or no address: its pod is not there yet
  kFewAddresses,  ///< a service has fewer than are waited for
  kDnsSilent,     ///< no DNS server answered
  kDnsFailed,     ///< the DNS server refused or failed
  kUnreachable,   ///< it has an address; no route leads there from here
  kNoAnswer,      ///< nothing came back, or only that a host on the way found none
  kRefused,       ///< its host lives, nothing listens
  kForeign,       ///< somebody took the connection who does not speak as an agent does
  kRejected,      ///< it answered and would not have us: other run id, other secret
  kUnheard,       ///< it took the connection, and has said nothing yet
  kNotJoined,     ///< something listens at its place, but it has not joined the leader that asks
  kReached,
};

/// "NXDOMAIN", "no answer", "refused", ...
[[nodiscard]] std::string_view to_string(Reachability state);

struct Contact {
  std::string name;  ///< as the user wrote it, without the port
  Reachability state = Reachability::kUnasked;
};

/// A line with more names than this ends in "and N more".
inline constexpr size_t kMaxNamesInLine = 8;

/// "waiting for 3 of 8: worker-5 (NXDOMAIN), worker-6 (refused), worker-7 (no answer)"; "" when all
/// are reached.
[[nodiscard]] std::string waiting_line(std::span<const Contact> candidates);

/// From one waiting line to the next, after `lines` of them: 3 s, doubling up to a minute.
[[nodiscard]] Duration waiting_interval(int lines);

}  // namespace muster::rendezvous
