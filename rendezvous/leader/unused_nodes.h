// UnusedNodes: what the end of a job means for nodes that no round had a place for. A spare that
// was declared, or the successor of a node that was lost, succeeds with the job. Whoever is there
// beyond those was meant for something else. Part of the inside of Leader. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/leader/leader_ending.h"
#include "rendezvous/leader/node_table.h"
#include "rendezvous/messages/job_options.h"

namespace muster::rendezvous {

class UnusedNodes {
 public:
  /// The job ends with the round `last`, and with these `nodes` there.
  void begin(const JobOptions& options, const Electorate& last, const NodeTable& nodes);
  /// `end` as `node` is told it: kExitUnavailable for one that nobody declared. The first of those
  /// that ask are the declared ones.
  [[nodiscard]] JobEnd end_for(const LeaderNode& node, JobEnd end);

 private:
  [[nodiscard]] bool take_place(const LeaderNode& node);

  std::string complete_;            // "the job 'x' of 2 nodes was complete"
  bool all_ = false;                // every node has a use, also without a place
  int spares_ = 0;                  // that were declared and may still come
  std::vector<NodeIdentity> lost_;  // whose successors may still come
  std::vector<uint64_t> declared_;  // who came as one of both
};

}  // namespace muster::rendezvous
