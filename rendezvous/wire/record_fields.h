// The fields of what several control messages carry, for two visitors, one that writes and one that
// reads: a key, the value, its limits. For message_json.cc alone; the messages' own are in
// agent_fields.h and leader_fields.h.
#pragma once

#include <csignal>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rendezvous/agreement/exchange.h"
#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

inline constexpr int64_t kMaxMilliseconds = 10LL * 365 * 24 * 3600 * 1000;
inline constexpr int kMaxWorld = kMaxNodes * kMaxWorkersPerNode;  // ranks: 2^28

// Limits of a number; what is outside ends the connection instead of wrapping.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
};
inline constexpr Range kAnyInt{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
inline constexpr Range kNodeRank{-1, kMaxNodes - 1};
inline constexpr Range kNodeCount{0, kMaxNodes};
inline constexpr Range kWorldRange{0, kMaxWorld};
inline constexpr Range kPort{0, 65535};
inline constexpr Range kMilliseconds{0, kMaxMilliseconds};
inline constexpr Range kRound{0, kMaxRound};
inline constexpr Range kTerm{0, kMaxTerm};
inline constexpr Range kStep{-1, std::numeric_limits<int64_t>::max()};

/// What is written is const, what is read is not.
template <typename T, typename... Ts>
concept OneOf = (std::is_same_v<std::remove_const_t<T>, Ts> || ...);

/// Which round: of RoundKey, and of whatever has the same two members.
template <typename Visitor, typename T>
void key_fields(Visitor& v, T& m) {
  v.number("round", m.round, kRound);
  v.number("term", m.term, kTerm);
}
template <typename Visitor, OneOf<NodeIdentity> M>
void fields(Visitor& v, M& m) {
  v.text("name", m.name, kMaxNameBytes);
  v.optional_number("index", m.index, {0, kMaxNodes - 1});
  v.number("incarnation", m.incarnation);
}
template <typename Visitor, OneOf<RosterEntry> M>
void fields(Visitor& v, M& m) {
  v.object("identity", m.identity);
  v.text("host", m.host, kMaxNameBytes);
  v.number("port", m.port, kPort);
  v.number("workers", m.workers, kWorldRange);
  v.text("note", m.note, kMaxPeerNoteBytes);
}
template <typename Visitor, OneOf<EndedNodes> M>
void fields(Visitor& v, M& m) {
  key_fields(v, m);
  v.numbers("nodes", m.node_ranks, static_cast<size_t>(kMaxNodes), {0, kMaxNodes - 1});
}
template <typename Visitor, OneOf<BudgetState> M>
void fields(Visitor& v, M& m) {
  v.number_or("used", 0, m.restarts_used, kWorldRange);
  v.number_or("charged", 0, m.restarts_charged, kWorldRange);
  v.numbers("ages_ms", m.restart_ages_ms, kMaxRestartAges, kMilliseconds);
  v.text("last_failure", m.last_failure, kMaxTextBytes);
  v.number_or("same", 0, m.same_failures, kWorldRange);
  v.number_or("best_step", -1, m.best_step, kStep);
  v.flag("given_back", m.given_back);
  v.number_or("judged_round", 0, m.judged_round, kRound);
  v.number_or("pause_ms", 0, m.pause_ms, kMilliseconds);
  v.number_or("nodes_lost", 0, m.nodes_lost, kWorldRange);
  v.number_or("nodes_joined", 0, m.nodes_joined, kWorldRange);
}
template <typename Visitor, OneOf<SizeRequest> M>
void fields(Visitor& v, M& m) {
  v.number("number", m.number, kRound);
  v.number("nodes", m.nodes, {0, kMaxNodes});
  v.number("term", m.term, kTerm);
}
template <typename Visitor, OneOf<Failure> M>
void fields(Visitor& v, M& m) {
  v.number("rank", m.rank, {-1, kMaxWorld});  // -1: not a rank, but what starts them
  v.number("local_rank", m.local_rank, kWorldRange);
  v.text("node", m.node, kMaxNameBytes);
  v.number("pid", m.pid, kAnyInt);
  v.number("exit_code", m.exit_code, {0, 255});
  v.number("signal", m.signal, {0, SIGRTMAX});
  v.text("class", m.failure_class, kMaxNameBytes);
  v.text("reason", m.reason, kMaxTextBytes);
  v.lines("message", m.message, kMaxTextBytes);
  v.lines("last_lines", m.last_lines, kMaxTextBytes);
  v.text("logs", m.logs, kMaxPathBytes);
  v.number("age_ms", m.age_ms, kMilliseconds);
  v.number("alive_ms", m.alive_ms, kMilliseconds);
  v.number("attempt", m.attempt, {0, kMaxAttempt});
  v.flag("would_fail_again", m.would_fail_again);
  v.flag("told_to_stop", m.told_to_stop);
  v.flag("presumed", m.presumed);
  v.optional_number("unfit_node", m.unfit_node, {0, kMaxNodes - 1});
}
/// Of Contribution and Exchanged.
template <typename Visitor, typename T>
void exchange_fields(Visitor& v, T& m) {
  v.number("round", m.round, kRound);
  v.number("sequence", m.sequence);
  v.number("offset", m.offset);
  v.bytes("data", m.data, kMaxExchangeChunkBytes);
  v.flag("last", m.last);
}

}  // namespace muster::rendezvous
