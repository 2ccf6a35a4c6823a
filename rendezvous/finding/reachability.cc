#include "rendezvous/finding/reachability.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

constexpr Duration kFirstLine = std::chrono::seconds(3);
constexpr Duration kSlowestLine = std::chrono::seconds(60);

// `first` doubled `times` times, at most `limit`.
Duration doubled(Duration first, int times, Duration limit) {
  constexpr int kEnough = 10;  // doublings that exceed every limit here, and overflow nothing
  return std::min(first * (1 << std::clamp(times, 0, kEnough)), limit);
}

}  // namespace

std::string_view to_string(Reachability state) {
  switch (state) {
    case Reachability::kUnasked:
      return "no answer yet";
    case Reachability::kNoName:
      return "NXDOMAIN";
    case Reachability::kFewAddresses:
      return "too few addresses";
    case Reachability::kDnsSilent:
      return "no DNS answer";
    case Reachability::kDnsFailed:
      return "DNS failed";
    case Reachability::kUnreachable:
      return "unreachable";
    case Reachability::kNoAnswer:
      return "no answer";
    case Reachability::kRefused:
      return "refused";
    case Reachability::kForeign:
      return "no agent answers";
    case Reachability::kRejected:
      return "rejected us";
    case Reachability::kUnheard:
      return "connected, no word yet";
    case Reachability::kNotJoined:
      return "takes connections, has not joined";
    case Reachability::kReached:
      return "reached";
  }
  MUSTER_CHECK(false);
}

std::string waiting_line(std::span<const Contact> candidates) {
  size_t missing = 0;
  std::string names;
  for (const Contact& candidate : candidates) {
    if (candidate.state == Reachability::kReached) continue;
    if (++missing > kMaxNamesInLine) continue;
    names += names.empty() ? "" : ", ";
    names += candidate.name;
    names += " (";
    names += to_string(candidate.state);
    names += ")";
  }
  if (missing == 0) return "";
  if (missing > kMaxNamesInLine) {
    names += " and " + std::to_string(missing - kMaxNamesInLine) + " more";
  }
  return "waiting for " + std::to_string(missing) + " of " + std::to_string(candidates.size()) +
         ": " + names;
}

Duration waiting_interval(int lines) { return doubled(kFirstLine, lines, kSlowestLine); }

}  // namespace muster::rendezvous
