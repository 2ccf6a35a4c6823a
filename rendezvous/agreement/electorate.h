// Electorate: the nodes of a round as the leader of a later one must count them (takeover.h). Built
// from what the leader itself assigned or from the reports of agents after a take-over. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/agreement/takeover.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

/// One node rank of the round.
struct ElectorSeat {
  uint64_t incarnation = 0;        ///< 0 = nobody told yet who it is
  std::optional<RosterEntry> who;  ///< address and seat, if known
  bool gone = false;               ///< known to have ended (Fate::kGone)
  RoundKey knew = kAnyRound;       ///< gone: the newest round that it can have heard of
  bool replaced = false;           ///< by a node that is here: counts as gone for this leader
  bool succeeded = false;          ///< its workers had all exited 0 when it was lost
  std::optional<TimePoint> heard;  ///< by this leader
};

struct Electorate {
  uint64_t round = 0;  ///< 0 = there was none
  uint64_t term = 0;
  bool confirmed = false;          ///< known to have run on all its nodes
  std::vector<ElectorSeat> seats;  ///< by node rank

  [[nodiscard]] RoundKey key() const { return {term, round}; }
  /// None: it has no seat. O(1), as are find() and sit().
  [[nodiscard]] std::optional<size_t> rank_of(uint64_t incarnation) const;
  /// Null: it has no seat.
  [[nodiscard]] ElectorSeat* find(uint64_t incarnation);
  [[nodiscard]] bool has(uint64_t incarnation) const { return ranks_.contains(incarnation); }
  void sit(size_t rank, uint64_t incarnation);
  /// Makes room for so many nodes.
  void reserve(size_t nodes);
  /// It is lost, but its workers had all exited 0. False: it has no seat.
  bool mark_succeeded(uint64_t incarnation);
  [[nodiscard]] int gone_after_success() const { return gone_after_success_; }
  /// Fills in what `report` of the node `incarnation` tells of this same round.
  void learn(const RoundReport& report, uint64_t incarnation);

 private:
  std::unordered_map<uint64_t, size_t> ranks_;  // of those that ever sat; the seat decides
  int gone_after_success_ = 0;
};

[[nodiscard]] Electorate electorate_of(const RoundReport& report, uint64_t incarnation);

/// Adds to `known` who of the same rounds has ended as `told`; forgets rounds but `latest` and
/// `confirmed`.
void learn_ended(std::vector<EndedNodes>& known, const std::vector<EndedNodes>& told,
                 RoundKey latest, RoundKey confirmed);

/// The two rounds that count: the newest one known, and the last one known to have run everywhere.
/// They are the same once the newest is confirmed.
struct Electorates {
  Electorate latest;
  Electorate confirmed;
  TimePoint gone_at;  ///< when somebody was last found to be gone

  /// Takes in what an agent reports; a newer round moves the older ones down.
  void learn(const RoundReport& report, uint64_t incarnation);
  /// A new round goes out. One before it that never ran everywhere counts if none did.
  void assign(Electorate round);
  void confirm();  ///< it runs on all its nodes, and may_confirm()
  void mark_gone(uint64_t incarnation, TimePoint now, RoundKey knew = kAnyRound);
  void mark_ended(const EndedNodes& nodes, TimePoint now);
  [[nodiscard]] std::vector<EndedNodes> ended() const;  ///< of both; what mark_ended() takes
  void mark_heard(uint64_t incarnation, TimePoint now);
  void forget_replaced();
};

/// How a node stands at the moment of counting.
struct PresentNode {
  uint64_t incarnation = 0;
  RoundKey accepted;    ///< the newest round it knows of
  TimePoint came_over;  ///< no other leader can have counted it since
};

/// A quorum of the newest round; while that one is unconfirmed also of the last confirmed one, or
/// of the confirmed one alone among nodes that never heard of the newer: then it cannot have begun,
/// unless who is gone had heard of it.
/// Of `present`, here and below, none is named twice. O(n).
[[nodiscard]] Quorum decide_quorum(const Electorates& electorates,
                                   const std::vector<PresentNode>& present);
/// Whether anybody may be left of a round that is known to have run everywhere. If not, another
/// leader can begin with nodes that never heard of the newest.
[[nodiscard]] bool binds(const Electorates& electorates);
/// Whether a quorum of the last confirmed round is among those who know of the newest. Before that
/// another leader could go on from the former with nodes that the newest has left out.
[[nodiscard]] bool may_confirm(const Electorates& electorates,
                               const std::vector<PresentNode>& knowing);
/// Since when no other leader can have counted any of those who have a seat and are present, or
/// gone: until it ended, the other leader's quorum may have been one of such nodes alone.
[[nodiscard]] TimePoint came_over(const Electorates& electorates,
                                  const std::vector<PresentNode>& present);
/// safe_to_form (takeover.h) over both rounds.
[[nodiscard]] TimePoint safe_to_form(const Electorates& electorates,
                                     const std::vector<PresentNode>& present, TimePoint rival_until,
                                     Duration lease);

}  // namespace muster::rendezvous
