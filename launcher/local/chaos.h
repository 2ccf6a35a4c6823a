// Faults on demand for `muster local`: the grammar of --chaos, and when a fault is due. Pure;
// local_nodes.cc carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace muster::launcher {

/// More than anybody writes by hand.
inline constexpr size_t kMaxFaults = 1000;
/// More agents than one machine carries.
inline constexpr int kMaxLocalNodes = 250;

enum class FaultKind {
  kKillNode,      ///< SIGKILL to the agent: the node is gone, with all it started
  kStopNode,      ///< SIGSTOP to the agent: it falls silent; its workers run on
  kContinueNode,  ///< SIGCONT
  kPreemptNode,   ///< SIGTERM to the agent: it saves and leaves
  kAddNode,       ///< one that was lost comes back, or a further one joins
  kKillRank,      ///< SIGKILL to the worker with that rank
  kPartition,     ///< nothing passes between the nodes of `side` and all others any more
  kHeal,          ///< everything passes again
};

/// When a fault is due: `after` the start; or, if there is a `word`, as soon as any agent or worker
/// prints a line with that word and a number of at least `number` behind it. The word "round"
/// counts only in the agents' line that says that a round's workers run.
struct FaultTime {
  Duration after{};
  std::string word;
  int64_t number = 0;
  friend bool operator==(const FaultTime&, const FaultTime&) = default;
};

/// `target`: a node (1 = the first; 0 = the next new one), or a rank. `side`: of a partition.
struct Fault {
  FaultKind kind = FaultKind::kKillNode;
  int target = 0;
  std::vector<int> side;
  FaultTime when;
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Faults between commas, each WHAT@WHEN; launcher/local/local_verb.cc's help is the page of it.
/// `random:seed=N[:faults=N][:every=TIME]` stands for so many faults, the same for the same seed
/// and number of nodes, each undone before the next one. `nodes`: how many there are at the start.
/// "" is none. kUsage names the part and the word that is wrong; kLimit: more than kMaxFaults.
Result<std::vector<Fault>> parse_chaos(std::string_view text, int nodes);

/// As it is written: "kill-node:2@5s", "partition:1+3@round=2".
[[nodiscard]] std::string to_string(const Fault& fault);

/// The first fault that cuts nodes off from others; null = none does.
[[nodiscard]] const Fault* find_partition(const std::vector<Fault>& faults);

/// Does this line of output make a fault with such a `when` due? O(length).
[[nodiscard]] bool is_due(const FaultTime& when, std::string_view line);

}  // namespace muster::launcher
