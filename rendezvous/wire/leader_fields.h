// The fields of what the leader says (leader_messages.h), as record_fields.h describes. For
// message_json.cc alone.
#pragma once

#include <cstdint>

#include "rendezvous/wire/record_fields.h"

namespace muster::rendezvous {

template <typename Visitor, OneOf<Welcome> M>
void fields(Visitor& v, M& m) {
  v.number("version", m.version, kAnyInt);
  v.text("run_id", m.run_id, kMaxNameBytes);
  v.flag("secured", m.secured);
  v.number("term", m.term, kTerm);
  v.text("leader", m.leader, kMaxNameBytes);
  v.number("lease_ms", m.lease_ms, kMilliseconds);
  v.number("clock_ms", m.clock_ms, kMilliseconds);
  v.text("notice", m.notice, kMaxTextBytes);
  v.number("incarnation", m.incarnation);
  v.text("leaders", m.leaders, kMaxTextBytes);
}
template <typename Visitor, OneOf<LastRound> M>
void fields(Visitor& v, M& m) {
  v.number_or("round", 0, m.round, kRound);
  v.number("term", m.term, kTerm);
  v.number_or("node_count", 0, m.node_count, kNodeCount);
  v.flag("confirmed", m.confirmed);
  v.object("budget", m.budget);
}
template <typename Visitor, OneOf<Refuse> M>
void fields(Visitor& v, M& m) {
  v.word("code", m.code, RefuseCode::kSelf);
  v.text("text", m.text, kMaxTextBytes);
  v.number("leader", m.leader);
  v.object("last", m.last);
  v.flag("workers", m.workers);
  v.text("leaders", m.leaders, kMaxTextBytes);
}
template <typename Visitor, OneOf<Ack> M>
void fields(Visitor& v, M& m) {
  v.number("sequence", m.sequence);
  v.number("confirmed", m.confirmed, kRound);
  v.flag("in_vain", m.in_vain);
  v.number("clock_ms", m.clock_ms, kMilliseconds);
  v.optional_object("size", m.size);
}
template <typename Visitor, OneOf<Waiting> M>
void fields(Visitor& v, M& m) {
  v.flag("spare", m.spare);
  v.object("last", m.last);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Assign> M>
void fields(Visitor& v, M& m) {
  key_fields(v, m);
  v.number_or("attempt", 0, m.attempt, {0, kMaxAttempt});
  v.number("node_rank", m.node_rank, {0, kMaxNodes - 1});
  v.number("node_count", m.node_count, {1, kMaxNodes});
  v.number("rank_offset", m.rank_offset, kWorldRange);
  v.number("world_size", m.world_size, {1, kMaxWorld});
  v.number("role_rank_offset", m.role_rank_offset, kWorldRange);
  v.number("role_world_size", m.role_world_size, {1, kMaxWorld});
  v.number("leader_rank", m.leader_rank, kNodeRank);
  v.text("master_host", m.master_host, kMaxNameBytes);
  v.number("master_port", m.master_port, kPort);
  v.optional_object("seat", m.seat);
  v.object("budget", m.budget);
  v.list("roster", m.roster, kMaxRosterPart);
  v.number_or("confirmed", 0, m.confirmed, kRound);
  v.number_or("confirmed_term", 0, m.confirmed_term, kTerm);
  v.list("ended", m.ended, kMaxEndedRounds);
  v.flag("check_node", m.checks, HealthChecks::kLocal);
  v.flag("check_pairs", m.checks, HealthChecks::kPairs);
  v.text("job", m.job, kMaxNameBytes);
}
template <typename Visitor, OneOf<RosterPart> M>
void fields(Visitor& v, M& m) {
  key_fields(v, m);
  v.list("nodes", m.nodes, kMaxRosterPart);
}
template <typename Visitor, OneOf<Stop> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
  v.text("reason", m.reason, kMaxTextBytes);
  v.flag("all_leave", m.all_leave);
  v.flag("next_runs", m.next_runs);
}
template <typename Visitor, OneOf<Quit> M>
void fields(Visitor& v, M& m) {
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Notice> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.text("leaver", m.leaver, kMaxNameBytes);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
}
template <typename Visitor, OneOf<MayRestart> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.number("sequence", m.sequence);
  v.number("rank", m.rank, kWorldRange);
  v.flag("restart", m.restart);
  v.number("delay_ms", m.delay_ms, kMilliseconds);
  v.text("reason", m.reason, kMaxTextBytes);
  v.object("budget", m.budget);
}
template <typename Visitor, OneOf<JobCounts> M>
void fields(Visitor& v, M& m) {
  v.number_or("attempts", 0, m.attempts, {0, kMaxAttempt});
  v.number_or("nodes_lost", 0, m.nodes_lost, kWorldRange);
  v.number_or("nodes_joined", 0, m.nodes_joined, kWorldRange);
}
template <typename Visitor, OneOf<Finish> M>
void fields(Visitor& v, M& m) {
  v.flag("success", m.success);
  v.number("exit_code", m.exit_code, {0, 255});
  v.text("reason", m.reason, kMaxTextBytes);
  v.optional_object("first", m.first);
  v.text("verdict", m.verdict, kMaxTextBytes);
  v.object("counts", m.counts);
}
template <typename Visitor, OneOf<Handover> M>
void fields(Visitor& v, M& m) {
  key_fields(v, m.last);
  v.flag("confirmed", m.confirmed);
  v.flag("intact", m.intact);
  v.list("ended", m.ended, kMaxEndedRounds);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<StatusReply> M>
void fields(Visitor& v, M& m) {
  v.document("json", m.json, kMaxStatusBytes);
}
template <typename Visitor, OneOf<Exchanged> M>
void fields(Visitor& v, M& m) {
  exchange_fields(v, m);
  v.text("problem", m.problem, kMaxTextBytes);
}

}  // namespace muster::rendezvous
