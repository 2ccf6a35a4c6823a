// What the leader says to agents, as plain values (control_messages.h has them all). Times are
// lengths in milliseconds, never points: clocks may differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/messages/health_checks.h"
#include "rendezvous/messages/node_identity.h"
#include "rendezvous/messages/round_policy.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

struct Welcome {
  int version = kControlVersion;
  std::string run_id;
  bool secured = false;
  uint64_t term = 0;
  std::string leader;  ///< name, for messages
  int64_t lease_ms = 0;
  int64_t clock_ms = 0;      ///< the leader's own, meaningless to others; see Heartbeat::echo_ms
  std::string notice = {};   ///< which of the node's settings do not count here; "" = all are alike
  uint64_t incarnation = 0;  ///< of the leader's agent
  /// Who may lead this job, "host:port" with commas, if that was read from a file or a service:
  /// whoever joins takes it over. "" = every node was told the same.
  std::string leaders = {};
};
enum class RefuseCode {
  kVersion,
  kRunId,
  kSecret,
  kNotLeader,
  kClosed,
  kBadJoin,
  kSettings,
  kSelf,  ///< the agent that was dialled is the one that dials
};
/// Ends the connection. `text`: one line for the other side's log. kSettings: job_settings.h.
struct Refuse {
  RefuseCode code = RefuseCode::kNotLeader;
  std::string text;
  uint64_t leader = 0;       ///< kNotLeader: incarnation of the agent that it follows; 0 = none
  LastRound last;            ///< as this node knows it
  bool workers = false;      ///< kNotLeader, kClosed: as in RoundReport
  std::string leaders = {};  ///< kNotLeader: as in Welcome, from an agent that knows the job
};
/// To the last heartbeat of a turn, and with it to all before. `confirmed`: the latest round known
/// to have run on all its nodes. `in_vain`: it was heard, but without a quorum it renews no lease.
struct Ack {
  uint64_t sequence = 0;
  uint64_t confirmed = 0;
  bool in_vain = false;
  int64_t clock_ms = 0;                  ///< as in Welcome
  std::optional<SizeRequest> size = {};  ///< as in Join
};
/// No round for this node yet: why. `spare`: `last` runs without it.
struct Waiting {
  bool spare = false;
  LastRound last;
  std::string reason;
};

/// The next nodes, by node rank, of the list that an Assign does without, or that who may lead
/// needs beside a Waiting: it comes in front of that.
struct RosterPart {
  uint64_t round = 0;
  uint64_t term = 0;
  std::vector<RosterEntry> nodes;
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
  std::optional<NodeIdentity> seat;  ///< as in RoundReport; none = the node's own
  BudgetState budget;
  /// All nodes by node rank; for candidates, node rank 0 and who needs peers, else empty. On the
  /// wire empty in large rounds, too: RosterPart.
  std::vector<RosterEntry> roster;
  uint64_t confirmed = 0;       ///< of the rounds before, the last known to have run everywhere
  uint64_t confirmed_term = 0;  ///< of that round; 0 = `term`
  std::vector<EndedNodes> ended = {};        ///< of rounds before, that still count; for candidates
  HealthChecks checks = HealthChecks::kOff;  ///< before the workers start
  /// What a job without a run id is called, for people and programs; "" = it has one.
  std::string job = {};
};
/// Who was told to save obeys when its time to save is over. `all_leave`: every node of the round
/// was told to go, so that nobody waits to go on: it obeys at once, and kills in its time.
/// `next_runs`: a later round runs already, beside which nothing else may.
struct Stop {
  uint64_t round = 0;
  int64_t grace_ms = 0;
  std::string reason;
  bool all_leave = false;
  bool next_runs = false;
};
/// The answer to LoneFailure, to the node that asked; and to those who may lead, for whom the
/// budget alone is news.
struct MayRestart {
  uint64_t round = 0;
  uint64_t sequence = 0;
  int rank = 0;
  bool restart = false;
  int64_t delay_ms = 0;  ///< before it starts
  std::string reason;
  BudgetState budget;
};
/// A node leaves: save now. The workers run on until Stop.
struct Notice {
  uint64_t round = 0;
  std::string leaver;
  int64_t grace_ms = 0;
};
/// What became of the job's nodes, and how often its workers were started.
struct JobCounts {
  int attempts = 0;
  int nodes_lost = 0;    ///< with work left, whether they failed or were told to go
  int nodes_joined = 0;  ///< after the first round began
};
/// The job is over on all nodes. `first` is its first failure, if it failed.
struct Finish {
  bool success = false;
  int exit_code = 0;
  std::string reason;
  std::optional<Failure> first;
  std::string verdict = {};  ///< what the restart policy said to it; "" = it was not asked
  JobCounts counts = {};
};
/// The leader goes; the next candidate may lead at once. `ended`, of the rounds that that one will
/// count (Electorates), is for candidates. None of these nodes knew of a round after `last`.
struct Handover {
  RoundKey last;
  std::vector<EndedNodes> ended;
  std::string reason;
  bool confirmed = false;  ///< `last` is known to have run everywhere
  bool intact = false;     ///< it runs, and loses no worker with this leader
};
/// The job is to end: the agent goes as if it had got SIGTERM. Said again to who joins later.
struct Quit {
  std::string reason;
};
/// To an observer: Leader::status_json(), or where the leader is.
struct StatusReply {
  std::string json;
};

}  // namespace muster::rendezvous
