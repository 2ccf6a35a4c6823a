// How a member becomes the leader: what it brings along, and what it may take for granted when a
// service outside elected it. Candidates that decide for themselves are in member_link.cc.
#include <fmt/core.h>

#include <algorithm>

#include "rendezvous/events.h"
#include "rendezvous/member_core.h"

namespace muster::rendezvous {

// What this node brings along.
LeaderSeed MemberCore::leader_seed(TimePoint now) const {
  LeaderSeed seed;
  seed.term = term_;
  seed.name = setup_.self.identity.name;
  seed.incarnation = setup_.self.identity.incarnation;
  seed.last_round = last_round_;
  seed.confirmed_round = confirmed_round_;
  seed.gone = gone_;
  seed.budget = budget(now);
  seed.quiet = quiet();
  if (evidence_from_ && now < *evidence_from_ + times_.lease) {
    seed.evidence_until = *evidence_from_ + times_.lease;
  }
  return seed;
}

// While our workers run unfenced the last leader cannot have begun another round: it would have had
// to see them end, or to wait for a lease in which our fence would have come. Else whatever ran
// under an earlier leader, known to us or not, is over in a lease from now.
void MemberCore::elected(TimePoint now, const Election& election) {
  if (leader_ || !may_lead() || at(0).link != CandidateLink::kDialling) return;
  constexpr int kOnlyResidue = 0;
  term_ = std::max(next_term(term_, kOnlyResidue),
                   next_term(election.number * kMaxCandidates, kOnlyResidue));
  LeaderSeed seed = leader_seed(now);
  const bool runs = in_round() && last_round_ && last_round_->workers && fence_reason_.empty();
  seed.elected_safe_at = election.first || runs ? now : now + times_.lease;
  log(log::Level::kWarning, kEventLeaderTakeOver, fmt::format("elected, term {}", term_));
  outputs_.push_back(member_output::BecomeLeader{std::move(seed)});
  outputs_.push_back(member_output::Dial{0});
}

}  // namespace muster::rendezvous
