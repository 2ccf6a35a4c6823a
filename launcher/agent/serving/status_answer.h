// What an agent answers when it is asked for the status: one JSON object, whatever its part in the
// job. Pure; `muster status` shows it (status_table.h), and so may anybody who reads JSON.
//
// From the leader, or the only node:
//   {"run_id", "job" (its name), "leader" (its node), "term", "state", "round" (0 = none yet),
//    "round_nodes", "min_nodes", "max_nodes", "sizes" ("2 or 4 nodes"; absent where it takes all
//    between), "target_nodes" (how many the leader wants; absent of a job of one node),
//    "growth_wait_s" (until the round may grow; absent: it may now, or no round runs),
//    "restarts_used", "max_restarts", "reasons": {event: last reason}, "last_stop", "nodes":
//    [{"name", "host", "port", "node_rank" (-1 = in no round), "workers", "first_rank" (-1 = not
//    known), "state", "connected", "suspect", "leaving", "silent_s"}], "node_total" (may be more
//    than are listed), "progress": {"rank", "step", "total", "epoch", "metrics", "rate", "percent",
//    "eta_s", "unmoved_s"} (absent: nobody has said how far it is; what is not known is absent in
//    it, too), "history": [{"time", "round", "cause", "reason", "total_s", "phases": {...}}] (the
//    restart timeline, the oldest first)}
// From any other agent:
//   {"run_id", "job", "node", "state" (of its membership), "leader_at" ("host:port" to ask; absent
//    = not known), "reason", "round", "round_nodes", "restarts_used", "progress" (of its own
//    workers)}
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/socket.h"
#include "elastic/worker_group.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// A leader's own word, and what it does not know itself.
struct LeaderFacts {
  std::string leader;  ///< Leader::status_json
  int max_restarts = 0;
  /// What the workers of its node say of how far they are, as JSON; "" = nothing, then the step
  /// that the job is known to have made stands for it.
  std::string progress = {};
  std::string history = {};  ///< JobTimeline::json; "" = there is none
  std::string job = {};      ///< its name
};
/// All of it, with the first rank of each node.
[[nodiscard]] std::string leader_status(const LeaderFacts& facts);

/// An agent that does not lead.
struct FollowerFacts {
  std::string run_id;
  std::string job;
  std::string node;
  std::optional<std::string> leader_at;  ///< "host:port", as this agent would dial it
  std::string reason;                    ///< why it does not lead
  rendezvous::LastRound last;
  std::string state = {};     ///< of its membership (MemberState)
  std::string progress = {};  ///< of its own workers, as JSON; "" = they have said nothing
};
[[nodiscard]] std::string follower_status(const FollowerFacts& facts);

/// The only agent of a job of one node.
struct SingleNodeFacts {
  std::string run_id;
  std::string job;
  std::string node;
  Address address;
  int workers = 1;
  int attempt = 0;
  int restarts_used = 0;
  int max_restarts = 0;
  elastic::GroupState state = elastic::GroupState::kIdle;
  std::string verdict;        ///< reason of the last restart; "" = there was none
  std::string progress = {};  ///< as JSON; "" = nobody has said how far it is
  std::string history = {};   ///< JobTimeline::json; "" = there is none
};
[[nodiscard]] std::string single_node_status(const SingleNodeFacts& facts);

}  // namespace muster::launcher
