// Faults on demand for `muster local`: the grammar of --chaos. Pure; local_verb.cc carries them
// out.
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace muster::launcher {

/// More than anybody writes by hand.
inline constexpr size_t kMaxFaults = 1000;

/// `signal` to the agent of node `node` (1 = the first) at `at` after the start.
struct Fault {
  int signal = 0;
  int node = 1;
  Duration at{};
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// "WHAT-node:N@TIME" between commas; WHAT is kill, term, stop or cont, TIME as base/text.h
/// ("kill-node:2@5s,stop-node:1@500ms"). `nodes`: how many there are. "" is none. kUsage: names the
/// part and what is wrong with it.
Result<std::vector<Fault>> parse_chaos(std::string_view text, int nodes);

}  // namespace muster::launcher
