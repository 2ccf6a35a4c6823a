// The fields of what agents say (agent_messages.h), as record_fields.h describes. For
// message_json.cc alone.
#pragma once

#include <cstdint>

#include "rendezvous/wire/record_fields.h"

namespace muster::rendezvous {

template <typename Visitor, OneOf<JobDecision> M>
void fields(Visitor& v, M& m) {
  v.flag("stops", m.stops);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Decided> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.object("decision", m.decision);
}
template <typename Visitor, OneOf<RoundReport> M>
void fields(Visitor& v, M& m) {
  key_fields(v, m);
  v.number("node_rank", m.node_rank, kNodeRank);
  v.number("node_count", m.node_count, kNodeCount);
  v.object("seat", m.seat);
  v.number("leader_rank", m.leader_rank, kNodeRank);
  v.flag("confirmed", m.confirmed);
  v.flag("workers", m.workers);
  v.flag("succeeded", m.succeeded);
  v.flag("intact", m.intact);
  v.optional_object("decision", m.decision);
  v.list("roster", m.roster, kMaxRoster);
}
template <typename Visitor, OneOf<Setting> M>
void fields(Visitor& v, M& m) {
  v.text("flag", m.flag, kMaxNameBytes);
  v.text("value", m.value, kMaxSettingBytes);
}
template <typename Visitor, OneOf<JobCommand> M>
void fields(Visitor& v, M& m) {
  v.flag("stop", m.kind, JobCommandKind::kStop);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Hello> M>
void fields(Visitor& v, M& m) {
  v.number("version", m.version, kAnyInt);
  v.text("run_id", m.run_id, kMaxNameBytes);
  v.flag("secured", m.secured);
  v.number("term", m.term, kTerm);
  v.text("node", m.node, kMaxNameBytes);
  v.list("settings", m.settings, kMaxSettings);
  v.optional_number("candidate", m.candidate, {0, static_cast<int64_t>(kMaxCandidates) - 1});
  v.flag("observer", m.purpose, Purpose::kObserver);
  v.optional_number("target", m.target, {0, kMaxNodes});
  v.flag("at_once", m.at_once);
  v.number("agent", m.agent);
  v.optional_object("command", m.command);
}
template <typename Visitor, OneOf<Join> M>
void fields(Visitor& v, M& m) {
  v.object("identity", m.identity);
  v.text("host", m.host, kMaxNameBytes);
  v.number("port", m.port, kPort);
  v.number("local_world_size", m.local_world_size, {0, kMaxWorkersPerNode});
  v.text("role", m.role, kMaxNameBytes);
  v.optional_number("node_rank", m.node_rank, {0, kMaxNodes - 1});
  v.optional_number("candidate", m.candidate, {0, static_cast<int64_t>(kMaxCandidates) - 1});
  v.flag("wants_roster", m.wants_roster);
  v.text("note", m.note_for_peers, kMaxPeerNoteBytes);
  v.optional_object("last_round", m.last_round);
  v.optional_object("confirmed_round", m.confirmed_round);
  v.list("ended", m.ended, kMaxEndedRounds);
  v.optional_number("former_leader_ms", m.former_leader_ms, {0, kMaxFormerLeaderMs});
  v.object("budget", m.budget);
  v.optional_object("size", m.size);
  v.list("failures", m.failures, kMaxFailuresPerFrame);
  v.text("job", m.job, kMaxNameBytes);
  v.text("stop", m.stop, kMaxTextBytes);
  v.number_or("leader", 0, m.leader);
}
template <typename Visitor, OneOf<Heartbeat> M>
void fields(Visitor& v, M& m) {
  v.number("sequence", m.sequence);
  v.number("round", m.round, kRound);
  v.number_or("step", -1, m.step, kStep);
  v.number("echo_ms", m.echo_ms, kMilliseconds);
}
template <typename Visitor, OneOf<Started, Succeeded, Stopped> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
}
template <typename Visitor, OneOf<Goodbye> M>
void fields(Visitor& v, M& m) {
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Failed> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.list("failures", m.failures, kMaxFailuresPerFrame);
}
template <typename Visitor, OneOf<LoneFailure> M>
void fields(Visitor& v, M& m) {
  v.number("round", m.round, kRound);
  v.number("sequence", m.sequence);
  v.number("rank", m.rank, kWorldRange);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor, OneOf<Leaving> M>
void fields(Visitor& v, M& m) {
  v.text("reason", m.reason, kMaxTextBytes);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
}
template <typename Visitor, OneOf<Contribution> M>
void fields(Visitor& v, M& m) {
  exchange_fields(v, m);
}

}  // namespace muster::rendezvous
