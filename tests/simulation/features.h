// Features: what the jobs of some seeds have besides their sizes, times and faults. Drawn from dice
// of their own, so that a seed means the same sizes, times and faults as without them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/messages/job_options.h"
#include "tests/simulation/dice.h"

namespace muster::simulation {

inline constexpr Duration kLongestFault = std::chrono::seconds(90);  ///< until a machine is back

/// Who starts the ranks: each agent its own, a launcher on whatever node has rank 0, or on the
/// one node that has that role.
enum class Launch { kAgents, kFirstNode, kOneNode };

/// A new target size; none = as many nodes as possible.
struct TargetChange {
  Duration after;  ///< since the beginning
  std::optional<int> nodes;
};

/// Somebody asks for another number of nodes, 0 = as many as may be; not all are sizes of the job.
struct SizeAsk {
  Duration after;                        ///< since the beginning
  int nodes = 0;                         ///< without a launcher apart
  int agent = 0;                         ///< asked first
  std::optional<Duration> leader_lives;  ///< it is killed so long after it took the request
};

/// Somebody wants another round, or the end.
struct Command {
  rendezvous::JobCommandKind kind = rendezvous::JobCommandKind::kRestart;
  int agent = 0;                         ///< asked first
  std::vector<int> unlinked;             ///< nodes whose links break just before
  std::optional<Duration> leader_lives;  ///< it is killed so long after it obeyed
};

/// Between two nodes alone: what one sends does not arrive, or what both send.
struct Cut {
  Duration after;   // since the beginning
  Duration length;  // until it is healed
  int from = 0;
  int to = 1;
  bool one_way = false;
};

struct Features {
  std::vector<bool> numbered;  ///< by node: it was given --node-rank
  bool link_breaks = false;    ///< one node's, when all have stopped after a failure
  bool moves = false;          ///< a machine that was down comes back with another address
  bool ghosts = false;         ///< the agent of a machine that is replaced lives on, unreachable
  bool pairs = false;          ///< nodes 0 and 1, 2 and 3, ... share a machine and its name
  std::optional<Duration> restart_window;
  Launch launch = Launch::kAgents;
  bool elastic = false;               ///< TakesPart::kLeadersNode
  bool apart = false;                 ///< kOneNode: that node has no workers
  std::vector<TargetChange> targets;  ///< in order of time
  std::vector<Cut> cuts;
  std::vector<SizeAsk> asks;
  std::optional<Duration> step;  ///< how long the workers take for one, if they tell of them
  bool list_changes = false;     ///< nodes are read from a list; its first ones lead the job
  bool list_is_file = false;     ///< of all nodes from the beginning; else of those that have come
  bool exchanges = false;        ///< workers wait for each other in barriers with data
  Duration save{};               ///< how long workers take to save when they are told to
  bool ends_saved = false;       ///< they end then; else they go on until they are stopped
  bool alone = false;            ///< a worker that fails starts again alone, if it may
  bool asks_at_faults = false;   ///< more of them, when the network or an agent fails
  std::optional<Duration> unfit_until;  ///< so long nodes may fail a health check

  /// Of its machine: the lowest number of a node there.
  [[nodiscard]] int machine_of(int node) const { return pairs ? node - node % 2 : node; }
  /// All that share its machine, with itself.
  [[nodiscard]] std::vector<int> mates_of(int node, size_t nodes) const;
  [[nodiscard]] int workers_of(int node) const { return apart && node == 0 ? 0 : 1 + node % 3; }
};

/// A size of the job, in words of its own: what decides must not judge itself.
[[nodiscard]] bool was_asked_for(const rendezvous::JobOptions& options, int nodes);
/// What somebody may ask for, without a launcher apart.
[[nodiscard]] int draw_size(Dice& dice, const rendezvous::JobOptions& options);

/// For a job of so many nodes whose sizes are in `options`; what follows from the launcher is put
/// there.
[[nodiscard]] Features draw_features(uint64_t seed, bool etcd, int nodes,
                                     rendezvous::JobOptions& options);

}  // namespace muster::simulation
