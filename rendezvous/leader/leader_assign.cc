// The leader's rounds: who gets which place, and what the others are told.
#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"
#include "rendezvous/wire/roster_parts.h"

namespace muster::rendezvous {

namespace {

// Without what belongs to one place. `leader`: incarnation of its node.
Assign same_for_all(Electorate& round, int world_size, uint64_t leader) {
  const RosterEntry& first = *round.seats.front().who;
  const ElectorSeat* own = round.find(leader);
  Assign assign;
  assign.round = round.round;
  assign.term = round.term;
  assign.attempt = static_cast<int>(std::min<uint64_t>(round.round - 1, kMaxAttempt));
  assign.node_count = static_cast<int>(round.seats.size());
  assign.world_size = world_size;
  assign.leader_rank = own == nullptr ? -1 : static_cast<int>(own - round.seats.data());
  assign.master_host = first.host;
  assign.master_port = first.port;
  return assign;
}

// By node rank; empty unless all are known.
std::vector<RosterEntry> known_nodes(const Electorate& round) {
  std::vector<RosterEntry> nodes;
  nodes.reserve(round.seats.size());
  for (const ElectorSeat& seat : round.seats) {
    if (!seat.who || seat.incarnation == 0) return {};
    nodes.push_back(*seat.who);
    nodes.back().identity.incarnation = seat.incarnation;
  }
  return nodes;
}

}  // namespace

// Gives its members their ranks; all of them, by rank.
std::vector<RosterEntry> LeaderCore::take_seats(Electorate& round) {
  const size_t count = decision_.members.size();
  std::vector<LeaderNode*> ranked;
  ranked.reserve(count);
  for (const RoundMember& member : decision_.members) ranked.push_back(joiners_.at(member.joiner));
  nodes_.put_first(ranked);  // as the next decision wants them
  std::vector<RosterEntry> roster;
  roster.reserve(count);
  round.reserve(count);
  for (size_t rank = 0; rank < count; ++rank) {
    const NodeIdentity& seat = decision_.members[rank].seat;
    LeaderNode& node = *ranked[rank];
    node.set_rank(static_cast<int>(rank));
    node.set_progress(NodeProgress::kAssigned);
    node.seat = seat;
    node.rounds.accepted = round.key();
    const Join& join = node.join;
    roster.push_back({seat, join.host, join.port, join.local_world_size, join.note_for_peers});
    roster.back().identity.incarnation = node.incarnation();
    round.seats.push_back({.who = roster.back(), .heard = node.heard});
    round.sit(rank, node.incarnation());
  }
  return roster;
}

void LeaderCore::assign(TimePoint now) {
  Electorate round;
  round.round = newest_round_ = std::max(newest_round_, ending_.settled_round) + 1;
  round.term = term_;
  const std::vector<RosterEntry> roster = take_seats(round);
  // Whom this leader has met it has missed before.
  const bool others = formed_ != electorates_.latest.key();
  if (const std::string unmet = others ? unmet_names(electorates_.latest) : ""; !unmet.empty()) {
    const std::string text = unmet + " did not come back after the leader changed";
    voice_.log(log::Level::kWarning, kEventNodeLost, text);
    if (!std::exchange(ending_.names_unmet, true)) ending_.text = text;
  }
  changes_.count(electorates_.latest, round, nodes_);
  formed_ = round.key();
  electorates_.assign(std::move(round));
  quorum_stale_ = true;
  yielded_ = false;
  inquiry_.forget_round();
  misfit_.clear();  // who will be missing is another
  const int former_size = std::exchange(last_size_, static_cast<int>(roster.size()));
  // At a restart, too.
  const bool grew = ending_.growing || (former_size > 0 && last_size_ > former_size);
  std::vector<bool> gives;
  for (const RosterEntry& entry : roster) gives.push_back(entry.workers > 0);
  exchange_.begin(std::move(gives));
  ending_.cause = BreakCause::kNone;
  ending_.decision.reset();
  ending_.lone.clear();
  ending_.failures.clear();
  ending_.leavers = 0;
  ending_.leaving_since.reset();
  ending_.all_leave = false;
  lost_at_.reset();
  voice_.log(log::Level::kDebug, kEventRoundFormed, round_text(electorates_.latest, decision_),
             electorates_.latest.round);
  Assign same = same_for_all(electorates_.latest, decision_.world_size, own_);
  same.checks = options_.health_checks;
  if (options_.run_id == kUnnamedJob) same.job = names_.job.settle(own_, electorates_.latest.key());
  if (const Electorate& ran = electorates_.confirmed; ran.confirmed) {
    same.confirmed = ran.round;
    if (ran.term != term_) same.confirmed_term = ran.term;
  }
  for (const RoundMember& member : decision_.members) {
    acknowledge(now, *joiners_.at(member.joiner));
    send_place(member, same, roster);
  }
  if (const std::string twins = same_name_text(roster); !twins.empty())
    voice_.say_when_changed(kEventNodeSameName, twins, /*warn=*/true);
  // Also those of the last round that have no seat now: it is over for them.
  const bool left_out = static_cast<size_t>(nodes_.counts().in_any()) < nodes_.size();
  for (auto entry = nodes_.begin(); left_out && entry != nodes_.end(); ++entry) {
    LeaderNode& node = **entry;
    if (node.rank() < 0 && node.progress() == NodeProgress::kSucceeded)
      node.set_progress(NodeProgress::kIdle);
  }
  policy_.round_started(now, grew);
  target_.reached(last_size_, options_);
  ending_.growing = false;
  missing_.clear();
  for (const auto event : {kEventRoundWaiting, kEventRoundGrowth}) voice_.forget(event);
}

void LeaderCore::send_place(const RoundMember& member, Assign assign,
                            const std::vector<RosterEntry>& roster) {
  const LeaderNode& node = *joiners_.at(member.joiner);
  assign.node_rank = node.rank();
  assign.rank_offset = member.rank_offset;
  assign.role_rank_offset = member.role_rank_offset;
  assign.role_world_size = member.role_world_size;
  if (member.seat != node.join.identity) assign.seat = member.seat;
  assign.budget = budget(node.heard);
  if (node.join.candidate) assign.ended = electorates_.ended();
  // Node rank 0 serves the store, and only to members. Who may lead dials those that are missing.
  const bool must_know = node.join.candidate.has_value() || node.rank() == 0;
  const bool wants_to = node.join.wants_roster && roster.size() <= kMaxRoster;
  if (must_know || wants_to || roster.size() <= kSmallRoster) {
    if (roster.size() <= kMaxRosterPart) {
      assign.roster = roster;
    } else {
      for (auto& part : in_parts(electorates_.latest.key(), roster)) send(node, std::move(part));
    }
  }
  send(node, std::move(assign));
}

void LeaderCore::tell_waiting(LeaderNode& node, bool spare, const std::string& reason) {
  const Electorate& ran = electorates_.latest;
  // What changes is whether and why. Counts and seconds are no news: N nodes that come one by one
  // would be told N times each.
  const bool same = node.told && node.told->spare == spare && node.told->round == ran.round &&
                    same_but_for_numbers(node.told->reason, reason);
  if (same) return;
  const bool news = !node.told || node.told->round != ran.round;
  node.told = Told{spare, ran.round, reason, evaluated_at_};
  acknowledge(evaluated_at_, node);
  // It may lead next, and then has to count those: who of them has ended is found out by dialling.
  if (news && node.join.candidate && !ran.has(node.incarnation()))
    for (auto& part : in_parts(ran.key(), known_nodes(ran))) send(node, std::move(part));
  if (spare) {
    node.rounds.accepted = ran.key();
    quorum_stale_ = true;
  }
  send(node, Waiting{spare, last_round(ran), reason});
}

}  // namespace muster::rendezvous
