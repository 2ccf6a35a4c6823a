// Take-over: who may lead when the leader is lost, and when a leader may form a round. These two
// rules keep two halves of a split network from both running. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rendezvous/messages/node_identity.h"

namespace muster::rendezvous {

/// Terms number leaders: the term of one who begins to lead, above all `known` ones. No two leaders
/// have the same. `candidate`, the place in the list, is its remainder by kMaxCandidates, so two
/// places never agree. One place may have two agents, when one was started again or the list was
/// changed: `incarnation`, of the agent that will lead, keeps those apart, but for one pair in a
/// million. Only the terms depend on this. Whatever they are, a leader needs a quorum.
[[nodiscard]] constexpr uint64_t next_term(uint64_t known, int candidate, uint64_t incarnation) {
  constexpr uint64_t kSpreads = 1U << 20;
  return (known / kMaxCandidates + 1 + incarnation % kSpreads) * kMaxCandidates +
         static_cast<uint64_t>(candidate);
}

/// What is known of one candidate, by asking it.
enum class CandidateView {
  kUnasked,
  kSilent,     ///< no answer, no refusal: it may live
  kGone,       ///< its machine refused the connection, or it said goodbye
  kAbsent,     ///< no such name (yet)
  kFollowing,  ///< answers, does not lead, has no leader either
  kServed,     ///< answers and has a living leader, which we cannot reach yet
  kLeading,
};

struct LeadQuestion {
  int self = 0;                          ///< own place in the list of candidates
  std::span<const std::string> names;    ///< by candidate, for reasons
  std::span<const CandidateView> views;  ///< by candidate; own entry is ignored
  std::span<const TimePoint> seen;       ///< last sign of life of each, or when asking began
  bool had_leader = false;  ///< was in this job before: a refusal now means that it died
  Duration lease{};
};
struct LeadDecision {
  bool lead = false;
  bool uncertain = false;            ///< some candidate is silent: it may lead another part
  std::optional<TimePoint> wake_at;  ///< when time alone may change the answer
  std::string reason;
};
/// A candidate leads when every other was asked once, none leads or is served, and each earlier one
/// is gone (if we had a leader before) or was not seen for a lease. An earlier candidate that
/// follows will lead itself.
[[nodiscard]] LeadDecision decide_lead(TimePoint now, const LeadQuestion& question);

/// What a leader knows of one node of the last round.
enum class Fate {
  kPresent,  ///< connected and heard of lately
  kUnknown,  ///< may live and run elsewhere
  kGone,     ///< known to have ended: left, refused, preempted, replaced at its own address
};
/// One node of the last round; `heard`: by this leader, none = never.
struct NodeFate {
  Fate fate = Fate::kUnknown;
  std::optional<TimePoint> heard;
};
struct Quorum {
  bool enough = false;
  /// "3 of the 5 nodes of round 4 that may still run are here". Written when it is asked for:
  /// seldom, and a quorum is counted on the way to every round. Keeps nothing alive and refers to
  /// nothing.
  std::function<std::string()> reason;
  bool vacant = false;  ///< all are gone: it keeps nobody else from having the same
};
/// More than half of those not gone; exactly half if the lowest node rank of them is present. With
/// nobody left (all gone) it is enough.
[[nodiscard]] Quorum decide_quorum(uint64_t round, std::span<const NodeFate> nodes);

/// The same where no round is known that runs everywhere, and another leader may exist:
/// `here` of the `most` nodes that there may be are enough if the others are fewer, and fewer than
/// `min`: whoever leads those has no quorum, and can have formed no round with answers of all.
[[nodiscard]] Quorum decide_first_quorum(int here, int most, int min);

/// From when on nothing of the last round can be alive where we do not see it. A node that we heard
/// kills its workers within a lease after that. One that served another leader does so within a
/// lease after that leader can last have been in touch with any of our quorum (`rival_until`): each
/// quorum of its own has one of them, and without a quorum it acknowledged nothing (LeaseTimes). At
/// once when no fate is unknown.
[[nodiscard]] TimePoint safe_to_form(std::span<const NodeFate> nodes, TimePoint rival_until,
                                     Duration lease);

}  // namespace muster::rendezvous
