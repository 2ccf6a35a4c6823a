// The messages of the control protocol as plain values (page: CONTROL_PROTOCOL.md; bytes:
// control_protocol.h). Times are lengths in milliseconds, never points: clocks may differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/node_identity.h"
#include "rendezvous/round_policy.h"

namespace muster::rendezvous {

inline constexpr int kControlVersion = 1;

/// First message of whoever dials; the other side answers Welcome or Refuse. An observer asks for
/// the status only and may do so of any agent.
enum class Purpose { kMember, kObserver };
struct Hello {
  int version = kControlVersion;
  std::string run_id;
  bool secured = false;
  uint64_t term = 0;  ///< the highest it knows: an older leader must not go on as such
  Purpose purpose = Purpose::kMember;
};

/// A node of a round: its seat (RoundReport), with the incarnation of who has it now.
struct RosterEntry {
  NodeIdentity identity;
  std::string host;
  int port = 0;
};

/// What a node knows of the round it was in; lets any leader rebuild the job's state.
struct RoundReport {
  uint64_t round = 0;
  uint64_t term = 0;
  int node_rank = -1;  ///< -1 = it was a spare then
  int node_count = 0;
  NodeIdentity seat;       ///< the place in the order of ranks: its own or that of whom it replaced
  int leader_rank = -1;    ///< node rank of that leader's own node
  bool confirmed = false;  ///< known to have run on all its nodes
  bool workers = false;    ///< some of this node's workers of that round may be alive
  bool succeeded = false;  ///< all of them exited 0
  std::vector<RosterEntry> roster;  ///< by node rank, if this node has it
};

/// What a member sends after Welcome, also after every reconnect.
struct Join {
  NodeIdentity identity;
  std::string host;  ///< numeric address under which peers reach this agent
  int port = 0;      ///< its job port
  int local_world_size = 1;
  std::string role;
  std::optional<int> node_rank;  ///< --node-rank
  std::optional<int> candidate;  ///< its place in the list of candidates
  std::optional<RoundReport> last_round;
  std::optional<RoundReport> confirmed_round;  ///< the one before, while last_round is unconfirmed
  BudgetState budget;
  std::vector<Failure> failures;  ///< of last_round, not yet acknowledged by a later round
};

struct Heartbeat {
  uint64_t sequence = 0;
  uint64_t round = 0;
  int64_t step = -1;  ///< progress of its workers; -1 = unknown
};
struct Started {
  uint64_t round = 0;
};
struct Succeeded {
  uint64_t round = 0;
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

struct Welcome {
  int version = kControlVersion;
  std::string run_id;
  bool secured = false;
  uint64_t term = 0;
  std::string leader;  ///< name, for messages
  int64_t lease_ms = 0;
};
enum class RefuseCode { kVersion, kRunId, kSecret, kNotLeader, kClosed, kReplaced, kBadJoin };
/// The connection ends after this. `text` is one line for the other side's log.
struct Refuse {
  RefuseCode code = RefuseCode::kNotLeader;
  std::string text;
  std::optional<int> leader;  ///< kNotLeader: the candidate that leads, if known
  uint64_t round = 0;         ///< kNotLeader: the last round this node knows
};
/// `confirmed`: the latest round known to have run on all its nodes.
struct Ack {
  uint64_t sequence = 0;
  uint64_t confirmed = 0;
};
/// No round for this node yet: why. A spare also learns of the round it is not in, so that it can
/// report it to the next leader.
struct Waiting {
  bool spare = false;
  uint64_t round = 0;  ///< running without it; 0 = none
  uint64_t term = 0;   ///< of that round
  int node_count = 0;  ///< of that round
  std::string reason;
};

struct Assign {
  uint64_t round = 0;
  uint64_t term = 0;
  int attempt = 0;  ///< restarts so far, of every cause: TORCHELASTIC_RESTART_COUNT
  int node_rank = 0;
  int node_count = 1;
  int rank_offset = 0;
  int world_size = 1;
  int role_rank_offset = 0;
  int role_world_size = 1;
  int leader_rank = -1;  ///< node rank of the leader's own node, -1 = a spare leads
  std::string master_host;
  int master_port = 0;
  NodeIdentity seat;
  BudgetState budget;
  std::vector<RosterEntry>
      roster;  ///< by node rank; for candidates and who needs peers, else empty
};
struct Stop {
  uint64_t round = 0;
  int64_t grace_ms = 0;
  std::string reason;
};
/// A node leaves: save now. The workers run on until Stop.
struct Notice {
  uint64_t round = 0;
  std::string leaver;
  int64_t grace_ms = 0;
};
struct Fence {
  std::string reason;
};  ///< kill the workers now
/// The job is over on all nodes. `first` is its first failure, if it failed.
struct Finish {
  bool success = false;
  int exit_code = 0;
  std::string reason;
  std::optional<Failure> first;
};
/// The leader goes; the next candidate may lead at once. `gone`: node ranks of the last round that
/// are known to have ended.
struct Handover {
  uint64_t round = 0;
  std::vector<int> gone;
  std::string reason;
};
struct StatusRequest {};
struct StatusReply {
  std::string json;
};

using Message = std::variant<Hello, Join, Heartbeat, Started, Succeeded, Failed, Stopped, Leaving,
                             Goodbye, Welcome, Refuse, Ack, Waiting, Assign, Stop, Notice, Fence,
                             Finish, Handover, StatusRequest, StatusReply>;

}  // namespace muster::rendezvous
