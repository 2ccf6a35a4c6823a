// What agents say to the leader, as plain values (control_messages.h has them all). Times are
// lengths in milliseconds, never points: clocks may differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/messages/job_settings.h"
#include "rendezvous/messages/node_identity.h"
#include "rendezvous/messages/round_policy.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

inline constexpr int kControlVersion = 1;

/// What an observer wants of the job, besides its status.
enum class JobCommandKind {
  kRestart,  ///< the round ends and another begins
  kStop,     ///< every agent goes as if it had got SIGTERM
};
struct JobCommand {
  JobCommandKind kind = JobCommandKind::kRestart;
  std::string reason;  ///< in the asker's words; "" = none given
};

/// First message of whoever dials; the other side answers Welcome or Refuse. An observer asks for
/// the status only and may do so of any agent.
enum class Purpose { kMember, kObserver };
struct Hello {
  int version = kControlVersion;
  std::string run_id;
  bool secured = false;
  uint64_t term = 0;  ///< the highest it knows: an older leader must not go on as such
  Purpose purpose = Purpose::kMember;
  std::optional<int> candidate;  ///< its place in the list of candidates: it lives, and may lead
  std::string node = {};         ///< its name, for messages
  std::vector<Setting> settings = {};  ///< what it was told of the job (job_settings.h)
  std::optional<int> target = {};  ///< of an observer: how many nodes the job shall have; 0 = all
  uint64_t agent = 0;    ///< incarnation of a member's agent, which may have dialled itself
  bool at_once = false;  ///< to the target: growth waits for nothing but nodes
  std::optional<JobCommand> command = {};  ///< of an observer
};

/// How many nodes an observer wants the job to have. Every agent carries the newest copy.
struct SizeRequest {
  uint64_t number = 1;  ///< of requests of one term the higher one is newer
  int nodes = 0;        ///< 0 = as many as may be
  uint64_t term = 0;    ///< of the leader that took it, or later; the higher one is newer
};

inline constexpr int kMaxFormerLeaderMs = 1'000'000'000;  ///< 11 days: any lease is over by then

/// What a member sends after Welcome, also after every reconnect.
struct Join {
  NodeIdentity identity;
  std::string host;          ///< numeric address under which peers reach this agent
  int port = 0;              ///< its job port
  int local_world_size = 1;  ///< 0 = it only starts the workers of others
  std::string role;
  std::optional<int> node_rank;  ///< --node-rank; 0 of the node that launches
  std::optional<int> candidate;  ///< its place in the list of candidates
  bool wants_roster = false;     ///< its workers call other nodes: it needs to know them all
  /// What other nodes must know to reach something on this one, in words that the rendezvous does
  /// not read. It goes to those alone who get rosters; at most kMaxPeerNoteBytes.
  std::string note_for_peers = {};
  std::optional<RoundReport> last_round;
  std::optional<RoundReport> confirmed_round;  ///< the one before, while last_round is unconfirmed
  std::vector<EndedNodes> ended;  ///< of these, or older ones, as a leader told this candidate
  /// How long ago the last word of a leader before this one came, at least; none = there was none.
  std::optional<int> former_leader_ms;
  BudgetState budget;
  std::optional<SizeRequest> size;  ///< none = nobody ever asked, as far as it knows
  std::vector<Failure> failures;    ///< of last_round, not yet acknowledged by a later round
  std::string job = {};             ///< as in the last Assign
  std::string stop = {};            ///< as in Quit, of whichever leader; "" = nobody told it to go
  uint64_t leader = 0;  ///< Welcome::incarnation: any other agent refuses; 0 = it was not told
};

struct Heartbeat {
  uint64_t sequence = 0;
  uint64_t round = 0;  ///< the newest that it knows of, with or without a place in it
  /// The furthest that its workers of that round said they made; -1 = none, or unknown.
  int64_t step = -1;
  /// clock_ms of the last Welcome or Ack: tells the leader that this was sent after that. A network
  /// may deliver it much later, when its sender follows another leader.
  int64_t echo_ms = 0;
};
struct Started {
  uint64_t round = 0;
};
struct Succeeded {
  uint64_t round = 0;
};
/// Also from the leader, to the other nodes of the round: any of them tells the next leader.
struct Decided {
  uint64_t round = 0;
  JobDecision decision;
};
/// A worker failed that may start again alone while the others run: the agent asks whether the
/// job's budget allows it. One question of a node at a time.
struct LoneFailure {
  uint64_t round = 0;
  uint64_t sequence = 0;  ///< of the node's questions in this round, from 1
  int rank = 0;
  std::string reason;  ///< "exit code 3 (user error)"
};
/// A worker failed; the agent stops its group without being told.
struct Failed {
  uint64_t round = 0;
  std::vector<Failure> failures;
};
struct Stopped {
  uint64_t round = 0;
};  ///< nothing of that round is alive on this node
/// The node is told to go (SIGTERM). It stays until it is released or `grace_ms` is over.
struct Leaving {
  std::string reason;
  int64_t grace_ms = 0;
};
struct Goodbye {
  std::string reason;
};  ///< its workers are gone and it ends now

}  // namespace muster::rendezvous
