// NodeIdentity: who a node is, apart from where it is and when it came. Ranks follow it, so that
// they do not depend on arrival or addresses. Pure; used by membership, leader and member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::rendezvous {

inline constexpr size_t kMaxNameBytes = 255;  ///< of a node: the longest DNS name
inline constexpr size_t kMaxCandidates = 16;  ///< nodes of a job that may lead
/// Of a job, four times the largest one measured; also bounds indexes and ranks of nodes.
inline constexpr int kMaxNodes = 65536;
/// More processes than any node has CPUs.
inline constexpr int kMaxWorkersPerNode = 4096;

/// `index` is what --node-rank said, >= 0; none = unknown. `incarnation` is a
/// random number of the agent process: the same place with another one was restarted or replaced.
struct NodeIdentity {
  std::string name;
  std::optional<int> index;
  uint64_t incarnation = 0;
  friend bool operator==(const NodeIdentity&, const NodeIdentity&) = default;
};

/// Text order in which runs of digits count as numbers: node2 < node10. <0, 0, >0.
[[nodiscard]] int compare_natural(std::string_view left, std::string_view right);

/// The order of ranks: known indexes first, by number; then names in natural order. Total over
/// places; the incarnation does not count. torchrun sorts by address as text (pytorch#191190).
[[nodiscard]] bool seat_less(const NodeIdentity& left, const NodeIdentity& right);
/// The same order: <0, 0, >0.
[[nodiscard]] int compare_seats(const NodeIdentity& left, const NodeIdentity& right);

/// The same pod, whichever incarnation: equal index if both know one, else equal name (so a pod
/// that came back without its number is still known).
[[nodiscard]] bool same_place(const NodeIdentity& left, const NodeIdentity& right);

/// "worker-3" or "worker-3 (index 3)", for messages.
[[nodiscard]] std::string describe(const NodeIdentity& identity);

}  // namespace muster::rendezvous
