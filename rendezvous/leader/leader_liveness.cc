// Who lives: silence, broken connections, dials.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

// A look at all nodes is O(N), too much for every turn. The last look has found when the first of
// them will have been silent for too long if it says nothing more; before that there is nothing to
// find, unless a node is without a link.
void LeaderCore::check_liveness(TimePoint now) {
  if (now < look_at_ && nodes_.counts().unlinked == 0) return wake(look_at_);
  quorum_stale_ = true;
  look_at_ = TimePoint::max();
  const auto look = [this](TimePoint at) { look_at_ = std::min(look_at_, at); };
  std::erase_if(greeted_, [this, now, &look](const auto& entry) {
    const auto& [link, at] = entry;
    if (now < at + times_.lease) {
      look(at + times_.lease);
      return false;
    }
    voice_.put(leader_output::CloseLink{link, "said hello and did not join"});
    return true;
  });
  std::vector<uint64_t> silent;
  int spoke = 0;  // since the last one came
  for (LeaderNode* node : nodes_) {
    if (node->link() && node->heard > last_joined_) ++spoke;
    const Duration silence = now - node->heard;
    if (silence >= times_.lease) {
      silent.push_back(node->incarnation());
      continue;
    }
    look(node->heard + times_.lease);
    if (silence < times_.suspect) {
      look(node->heard + times_.suspect);
    } else if (!node->suspect) {
      node->suspect = true;
      voice_.log(log::Level::kWarning, kEventNodeSuspect,
                 fmt::format("{} silent for {}; expelled after {}", describe(node->join.identity),
                             format_duration(silence), format_duration(times_.lease)));
    }
    if (node->link() && node->in_touch + times_.touch > now) look(node->in_touch + times_.touch);
  }
  if (look_at_ != TimePoint::max()) wake(look_at_);
  watch_surplus(spoke);
  for (const uint64_t incarnation : silent) {
    lost(now, incarnation, false, "silent for " + format_duration(times_.lease));
  }
  // This process slept, or its own agent follows another leader: either way others went on.
  const bool own = std::find(silent.begin(), silent.end(), own_) != silent.end();
  if (own && state_ != LeaderState::kFinished) hand_over("its own node was silent for a lease");
  // A node without connection that nobody waits for has nothing to lose: it joins again.
  if (nodes_.counts().unlinked == 0 || options_.rule.leader_alone()) return;
  const std::vector<LeaderNode*> all(nodes_.begin(), nodes_.end());
  for (const LeaderNode* node : all) {
    const bool needed = node->link() || node->progress() == NodeProgress::kEnding ||
                        (busy() && node->rank() >= 0) ||
                        electorates_.latest.find(node->incarnation()) != nullptr;
    if (!needed) nodes_.take_out(node->incarnation());
  }
}

// A look that comes due before this process wakes for its node's heartbeat after the next one is
// done now: while all nodes speak it then never needs a wake-up of its own. What it finds and when
// the next one is due follow from what was heard, not from when it is done.
void LeaderCore::look_with_own_beat(TimePoint now) {
  if (look_at_ >= now + times_.heartbeat * 3 / 2) return;
  look_at_ = now;
  dirty_ = true;
}

// After a take-over: whoever does not answer for itself may have died with the old leader, or while
// nobody led.
void LeaderCore::call_roll(TimePoint now) {
  const bool proves = evidence_until_ && now < *evidence_until_;
  if (!proves || busy() || state_ == LeaderState::kFinished) return roll_call_.end();
  if (roll_call_.is_due(now)) roll_call_.begin(unaccounted(), now + times_.suspect);
  const auto awaited = [this](uint64_t incarnation) {
    for (Electorate* electorate : {&electorates_.latest, &electorates_.confirmed}) {
      const ElectorSeat* seat = electorate->find(incarnation);
      if (seat != nullptr) return !seat->gone && !nodes_.contains(incarnation);
    }
    return false;
  };
  while (auto dial = roll_call_.next(awaited)) voice_.put(std::move(*dial));
  if (const auto next_call = roll_call_.wake_at()) wake(*next_call);
}

// Those who have a seat, are not here, and may live. While the newest round is unconfirmed the
// nodes of the one before it count as well.
std::vector<RosterEntry> LeaderCore::unaccounted() const {
  std::vector<RosterEntry> nodes;
  for (const Electorate* electorate : {&electorates_.latest, &electorates_.confirmed}) {
    for (const ElectorSeat& seat : electorate->seats) {
      const uint64_t incarnation = seat.incarnation;
      const bool told = electorate != &electorates_.latest && electorates_.latest.has(incarnation);
      const bool here = incarnation == own_ || nodes_.contains(incarnation);
      if (!seat.who || incarnation == 0 || seat.gone || told || here) continue;
      nodes.push_back(*seat.who);
      nodes.back().identity.incarnation = incarnation;
    }
  }
  return nodes;
}

void LeaderCore::dialed(TimePoint now, DialId dial, DialResult result) {
  dirty_ = dirty_ || roll_call_.waits();
  const auto incarnation = roll_call_.answered(dial);
  if (!incarnation || result != DialResult::kRefused) return;  // it may live: its lease decides
  const LeaderNode* node = nodes_.find(*incarnation);
  if (node != nullptr && node->link()) return;  // it came back meanwhile
  lost(now, *incarnation, true, std::string(kNothingListens));
}

// One node's word is enough: a step is done together, so that none gets two steps ahead of a node
// that is gone. Where nodes do steps of their own it keeps a dead one only for as long as that
// hurts nobody: they make steps, and when they wait for it there are none, and its lease runs out.
// Quorums are not made of this: whose round makes steps may follow another leader. Nor does it say
// that this process was awake, which its own node does.
void LeaderCore::step(TimePoint now, TimePoint made, uint64_t round, int64_t step) {
  if (!busy() || round != electorates_.latest.round || !furthest_.reach(round, step)) return;
  // One node may make it while another one still starts its workers: handle() tells it then.
  if (state_ == LeaderState::kRunning && furthest_.tell(round))
    voice_.put(leader_output::Moved{now, round});
  policy_.progressed(now, step);
  if (state_ == LeaderState::kStopping) return;  // some of them stopped since
  for (LeaderNode* node : nodes_) {
    if (node->rank() >= 0 && node->incarnation() != own_) node->heard = std::max(node->heard, made);
  }
}

void LeaderCore::lost(TimePoint now, uint64_t incarnation, bool gone, const std::string& why) {
  // A node of another leader's round proves nothing by dying late (LeaderSeed::evidence_until): it
  // may have been in a later round first, which goes on without it.
  const bool proves = nodes_.contains(incarnation) || (evidence_until_ && now < *evidence_until_);
  if (gone && !proves) return;
  dirty_ = quorum_stale_ = true;
  // It was lost with the leader before this one, which nobody has told yet.
  const ElectorSeat* unmet = gone ? electorates_.latest.find(incarnation) : nullptr;
  if (unmet != nullptr && unmet->who && !unmet->gone && !unmet->heard) {
    const std::string text = describe(unmet->who->identity) + " " + why;
    voice_.log(log::Level::kWarning, kEventNodeLost, text);
    if (!std::exchange(ending_.names_unmet, true)) ending_.text = text;
  }
  const auto taken_out = nodes_.take_out(incarnation);
  if (gone)
    electorates_.mark_gone(incarnation, now, taken_out ? taken_out->rounds.accepted : kAnyRound);
  if (electorates_.latest.find(incarnation) != nullptr) lost_at_ = now;
  if (!taken_out) return;
  const LeaderNode& node = *taken_out;
  const std::string text = describe(node.join.identity) + " " + why;
  // Its part of the job is done, and nobody needs it for the rest.
  const bool done = node.rank() >= 0 && node.progress() == NodeProgress::kSucceeded &&
                    electorates_.latest.mark_succeeded(incarnation);
  if (done && node.leave_by()) --ending_.leavers;  // one of those who are through
  // Once the job is over nodes go, as they should.
  const bool over = state_ == LeaderState::kFinished;
  voice_.log(over ? log::Level::kDebug : log::Level::kWarning, kEventNodeLost,
             text + (done ? ", after its workers succeeded" : ""));
  if (node.link()) {
    links_.erase(*node.link());
    voice_.put(leader_output::CloseLink{*node.link(), text});
  }
  // One whose workers had ended as they were told to is missed in the next round alone.
  const bool stopped = state_ == LeaderState::kStopping && !node.leave_by() &&
                       node.progress() == NodeProgress::kIdle;
  if (!busy() || node.rank() < 0 || done || stopped) return;
  break_round(now, node.leave_by() ? BreakCause::kPreempted : BreakCause::kLost, text, node.heard);
}

void Leader::on_dialed(TimePoint now, DialId dial, DialResult result) {
  core_->dialed(now, dial, result);
}
void Leader::on_step(TimePoint now, uint64_t round, int64_t step) {
  core_->step(now, now, round, step);
}

}  // namespace muster::rendezvous
