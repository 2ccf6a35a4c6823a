// Who lives: silence, broken connections, dials, and whether enough nodes are with this leader.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "rendezvous/events.h"
#include "rendezvous/leader_core.h"

namespace muster::rendezvous {

void LeaderCore::check_liveness(TimePoint now) {
  std::vector<uint64_t> silent;
  for (auto& [incarnation, node] : nodes_) {
    const Duration silence = now - node.heard;
    if (silence >= times_.lease) {
      silent.push_back(incarnation);
      continue;
    }
    wake(node.heard + times_.lease);
    if (silence < times_.suspect) {
      wake(node.heard + times_.suspect);
    } else if (!node.suspect) {
      node.suspect = true;
      log(log::Level::kWarning, kEventNodeSuspect,
          fmt::format("{} silent for {}; expelled after {}", describe(node.join.identity),
                      format_duration(silence), format_duration(times_.lease)));
    }
    if (node.link && node.in_touch + times_.touch > now) wake(node.in_touch + times_.touch);
  }
  for (const uint64_t incarnation : silent) {
    lost(now, incarnation, false, "silent for " + format_duration(times_.lease));
  }
  // This process slept, or its own agent follows another leader: either way others went on.
  const bool own = std::find(silent.begin(), silent.end(), own_) != silent.end();
  if (own && state_ != LeaderState::kFinished) hand_over("its own node was silent for a lease");
  // A node without connection that nobody waits for has nothing to lose: it joins again.
  std::erase_if(nodes_, [this](const auto& entry) {
    const auto& [incarnation, node] = entry;
    return !node.link && node.progress != NodeProgress::kEnding && !(busy() && node.rank >= 0) &&
           electorates_.latest.find(incarnation) == nullptr;
  });
}

void LeaderCore::dial_node(uint64_t incarnation, const std::string& host, int port) {
  dials_[next_dial_] = incarnation;
  outputs_.push_back(leader_output::Dial{next_dial_, host, port});
  ++next_dial_;
}

// After a take-over: whoever does not answer for itself may have died with the old leader.
void LeaderCore::dial_missing(TimePoint now) {
  if (!evidence_until_ || now >= *evidence_until_) return;
  const auto ask = [this](const ElectorSeat& seat) {
    const bool open = seat.who && seat.incarnation != 0 && seat.incarnation != own_ && !seat.gone;
    if (open) dial_node(seat.incarnation, seat.who->host, seat.who->port);
  };
  std::ranges::for_each(electorates_.latest.seats, ask);
  // While the newest round is unconfirmed the nodes of the one before it count as well.
  for (const ElectorSeat& seat : electorates_.confirmed.seats) {
    if (electorates_.latest.find(seat.incarnation) == nullptr) ask(seat);
  }
}

void LeaderCore::dialed(TimePoint now, DialId dial, DialResult result) {
  const auto found = dials_.find(dial);
  if (found == dials_.end()) return;
  const uint64_t incarnation = found->second;
  dials_.erase(found);
  if (result != DialResult::kRefused) return;  // it may live: its lease decides
  const auto node = nodes_.find(incarnation);
  if (node != nodes_.end() && node->second.link) return;  // it came back meanwhile
  // A node of another leader's round proves nothing by dying late (LeaderSeed::evidence_until).
  const bool ours = node != nodes_.end();
  if (!ours && (!evidence_until_ || now >= *evidence_until_)) return;
  lost(now, incarnation, true, "ended: nothing listens where its agent did");
}

void LeaderCore::step(TimePoint now, uint64_t round, int64_t step) {
  if (!busy() || round != electorates_.latest.round) return;
  policy_.progressed(now, step);
  for (auto& [incarnation, node] : nodes_) {
    if (node.rank >= 0) node.heard = now;
  }
}

void LeaderCore::lost(TimePoint now, uint64_t incarnation, bool gone, const std::string& why) {
  dirty_ = true;
  if (gone) electorates_.mark_gone(incarnation);
  if (electorates_.latest.find(incarnation) != nullptr) lost_at_ = now;
  const auto found = nodes_.find(incarnation);
  if (found == nodes_.end()) return;
  const LeaderNode node = std::move(found->second);
  nodes_.erase(found);
  const std::string text = describe(node.join.identity) + " " + why;
  // Its part of the job is done, and nobody needs it for the rest.
  ElectorSeat* seat = electorates_.latest.find(incarnation);
  const bool done = node.rank >= 0 && seat && node.progress == NodeProgress::kSucceeded;
  if (done) seat->succeeded = true;
  // Once the job is over nodes go, as they should.
  const bool over = state_ == LeaderState::kFinished;
  log(over ? log::Level::kDebug : log::Level::kWarning, kEventNodeLost,
      text + (done ? ", after its workers succeeded" : ""));
  if (node.link) {
    links_.erase(*node.link);
    outputs_.push_back(leader_output::CloseLink{*node.link, text});
  }
  if (!busy() || node.rank < 0 || done) return;
  break_round(now, node.leave_by ? BreakCause::kPreempted : BreakCause::kLost, text);
}

std::vector<PresentNode> LeaderCore::present(TimePoint now) const {
  std::vector<PresentNode> nodes;
  for (const auto& [incarnation, node] : nodes_) {
    if (node.link && now - node.in_touch < times_.touch) {
      nodes.push_back({incarnation, node.accepted});
    }
  }
  return nodes;
}

void LeaderCore::check_quorum(TimePoint now) {
  const auto here = present(now);
  Quorum quorum = decide_quorum(electorates_, here);
  if (electorates_.latest.round == 0) {
    const bool most = 2 * here.size() > static_cast<size_t>(options_.max_nodes);
    quorum = {!uncertain_ || most, fmt::format("{} of {} nodes, and another leader may exist",
                                               here.size(), options_.max_nodes)};
  }
  if (elected_safe_at_) quorum = {true, "elected"};
  if (quorum.enough) {
    if (std::exchange(quiet_, false)) {
      log(log::Level::kInfo, kEventLeaderBegin,
          fmt::format("term {}, now with {}", term_, quorum.reason));
    }
    if (!quorum_since_) quorum_since_ = now;
    return;
  }
  if (quorum_since_) quorum_lost_ = now;
  quorum_since_.reset();
  say_when_changed(kEventQuorumMissing, quorum.reason);
  if (now < quorum_lost_ + times_.lease) return wake(quorum_lost_ + times_.lease);
  if (state_ != LeaderState::kFinished) hand_over("no quorum for a lease: " + quorum.reason);
}

// Without a quorum no lease is renewed: see LeaseTimes. The job's end needs none.
void LeaderCore::send_acks(TimePoint now) {
  for (const auto& [incarnation, sequence] : std::exchange(acks_, {})) {
    const auto node = nodes_.find(incarnation);
    if (node == nodes_.end()) continue;
    const bool in_vain = !quorum_since_ && state_ != LeaderState::kFinished;
    send(node->second, Ack{sequence, electorates_.confirmed.round, in_vain, clock_ms(now)});
  }
}

}  // namespace muster::rendezvous
