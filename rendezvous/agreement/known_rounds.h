// KnownRounds: what a member knows of the job's rounds: the one that it was in or was told of last,
// and the one before it while that one counts as well (electorate.h). Pure; for Member's sources
// and its test alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rendezvous/messages/leader_messages.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

struct KnownRounds {
  std::optional<RoundReport> last;       ///< what the node reports of
  std::optional<RoundReport> confirmed;  ///< the one before that ran everywhere; none: `last` did
  std::optional<RoundReport> later;      ///< was told while workers of `last` are being stopped
  std::vector<EndedNodes> ended;         ///< of these, or of older ones
  RoundKey last_of_leader;               ///< who formed it formed none after it (Handover)

  /// The newest round and the one before it, as a leader would count them; null = none.
  struct Counted {
    const RoundReport* latest = nullptr;
    const RoundReport* confirmed = nullptr;
  };
  [[nodiscard]] Counted counted() const;
  /// The nodes of both that are not known to have ended, each once, but for `own`.
  [[nodiscard]] std::vector<RosterEntry> left(uint64_t own) const;

  /// The leader of that term formed `last`, and said when it handed over that none came after it.
  [[nodiscard]] bool ended_with(uint64_t term) const;

  /// A round begins with this node. The one before it counts on if it ran.
  void begin(RoundReport round);
  /// The node is told of a round without it. False: it knew of that one, or of a later one.
  bool learn(const LastRound& told);
  /// Workers of `last` are gone: `later` takes its place. False: there is none.
  bool adopt_later();
  /// False: it is no news, or of another round.
  bool ran_everywhere(RoundKey round);
  /// `nodes` of the rounds that count have ended; what is known of others is forgotten.
  void learn_ended(const std::vector<EndedNodes>& nodes);
  /// The node of that incarnation has ended. None: it has no seat, or this is no news; else who.
  std::optional<NodeIdentity> note_end(uint64_t incarnation);
};

}  // namespace muster::rendezvous
