// What the leader keeps of each node. Part of the inside of Leader; included by node_table.h alone.
#pragma once

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/agreement/electorate.h"
#include "rendezvous/agreement/exchange.h"
#include "rendezvous/leader/leader.h"
#include "rendezvous/leader/node_health.h"

namespace muster::rendezvous {

/// What a node's workers are doing in the current round.
enum class NodeProgress {
  kIdle,       ///< none alive; free for a round
  kAssigned,   ///< ranks sent
  kStarted,    ///< workers run
  kSucceeded,  ///< all exited 0
  kEnding,     ///< a worker failed, they were told to stop or belong to an old round
};

/// A round is out: assigned, running or being stopped.
[[nodiscard]] constexpr bool under_way(LeaderState state) {
  return state == LeaderState::kAssigned || state == LeaderState::kRunning ||
         state == LeaderState::kStopping;
}

/// What a Waiting said.
struct Told {
  bool spare = false;
  uint64_t round = 0;
  std::string reason;
  TimePoint at;
};

/// How many nodes of a kind there are, for what the leader asks at every turn: to look at all of
/// thousands takes longer than to read the messages that a turn brings.
struct NodeCounts {
  std::array<int, 5> in_round{};  ///< with a rank, by progress
  int ending = 0;                 ///< with and without
  int leaving = 0;                ///< told to go
  int unlinked = 0;               ///< without a connection

  [[nodiscard]] int in(NodeProgress progress) const {
    return in_round[static_cast<size_t>(progress)];
  }
  [[nodiscard]] int in_any() const { return std::reduce(in_round.begin(), in_round.end()); }
};

/// The newest rounds that a node was told of, and has spoken of.
struct KnownToNode {
  RoundKey accepted;
  RoundKey knows;
};

/// Counts itself, as long as it lives.
class LeaderNode {
 public:
  /// `counts` is borrowed for the life of the node.
  LeaderNode(uint64_t incarnation, NodeCounts& counts)
      : incarnation_(incarnation), counts_(counts) {
    count(1);
  }
  ~LeaderNode() { count(-1); }
  LeaderNode(const LeaderNode&) = delete;
  LeaderNode& operator=(const LeaderNode&) = delete;

  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] const std::optional<LinkId>& link() const { return link_; }
  void set_link(std::optional<LinkId> link) { change(link_, link); }
  [[nodiscard]] NodeProgress progress() const { return progress_; }
  void set_progress(NodeProgress progress) { change(progress_, progress); }
  /// In the current round; -1 = not in it.
  [[nodiscard]] int rank() const { return rank_; }
  void set_rank(int rank) { change(rank_, rank); }
  /// It was told to go.
  [[nodiscard]] const std::optional<TimePoint>& leave_by() const { return leave_by_; }
  void set_leave_by(TimePoint when) { change(leave_by_, std::optional(when)); }

 private:
  template <typename T>
  void change(T& member, T value) {
    count(-1);
    member = value;
    count(1);
  }
  void count(int nodes) {
    if (rank_ >= 0) counts_.in_round[static_cast<size_t>(progress_)] += nodes;
    if (progress_ == NodeProgress::kEnding) counts_.ending += nodes;
    if (leave_by_) counts_.leaving += nodes;
    if (!link_) counts_.unlinked += nodes;
  }

  // Side by side: what the looks at all nodes read. Of thousands, none is in a cache.
  uint64_t incarnation_;
  NodeCounts& counts_;
  std::optional<LinkId> link_;
  NodeProgress progress_ = NodeProgress::kIdle;
  int rank_ = -1;
  std::optional<TimePoint> leave_by_;

 public:
  bool suspect = false;  ///< for the log: told once
  TimePoint heard;       ///< last heartbeat, or evidence of life
  TimePoint in_touch;    ///< it followed this leader then: what counts for a quorum
  TimePoint came_over;   ///< no leader before this one has been in touch with it since
  std::optional<uint64_t> unacknowledged;  ///< its last heartbeat
  KnownToNode rounds;
  TimePoint joined_at;

  Join join;
  TimePoint greeted;  ///< when the Hello of its last Join was answered
  std::optional<NodeIdentity> seat;
  std::optional<Told> told;  ///< the last Waiting, so that it is sent when it changes
  std::string leave_reason;  ///< of leave_by()
  NodeHealth health;
};

}  // namespace muster::rendezvous
