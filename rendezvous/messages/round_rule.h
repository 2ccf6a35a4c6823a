// RoundRule: what is special about the rounds of a job: which nodes take part, whose success is
// that of the job, which node has the first place. Plain values. The command line maps a framework
// to one rule (launcher/options/job_setup); nothing here knows of frameworks.
#pragma once

namespace muster::rendezvous {

/// Which nodes take part in a round.
enum class TakesPart {
  kEveryNode,  ///< as many as the job's sizes allow; a node that comes or goes begins another round
  kLeadersNode,  ///< the leader's own node alone. The others wait beside it, and serve it as long
                 ///< as they are there: none of them begins or ends a round, but for the first
                 ///< min_nodes
};
/// Whose success is that of the job. The leader asks RoundRule::counts() alone. If one worker
/// decides, whichever it is, its agent says so when it has succeeded (JobDecision).
enum class Decides {
  kEveryNode,  ///< all nodes of the round
  kFirstNode,  ///< node rank 0. The others have no workers of their own, and end with it
};
/// Which node has node rank 0.
enum class FirstNode {
  kAny,        ///< whichever comes first by seat and identity (decide_round)
  kAppointed,  ///< the one that asks for it (Join::node_rank). It alone leads, and is in every
               ///< round
  kApart,      ///< the same, without workers: it counts as a node here, but not in --nnodes
};

struct RoundRule {
  TakesPart takes_part = TakesPart::kEveryNode;
  Decides decides = Decides::kEveryNode;
  FirstNode first = FirstNode::kAny;

  /// Members come and go without a new round: the round is that of the leader's node.
  [[nodiscard]] bool leader_alone() const { return takes_part == TakesPart::kLeadersNode; }
  /// The success of the node with that rank counts for that of the job.
  [[nodiscard]] bool counts(int node_rank) const {
    return decides == Decides::kEveryNode || node_rank == 0;
  }
  [[nodiscard]] bool first_decides() const { return decides == Decides::kFirstNode; }
  [[nodiscard]] bool has_appointed() const { return first != FirstNode::kAny; }
  [[nodiscard]] bool has_apart() const { return first == FirstNode::kApart; }
};

}  // namespace muster::rendezvous
