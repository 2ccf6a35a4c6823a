// LeaderGuide: asks the listed nodes that have not joined whether they know of the job. Nodes that
// came to a running job may be all that may lead by the list that they read. Before they form a
// round of their own they must hear of that job from any other node of the list.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/agent/serving/agent_query.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/messages/round_report.h"

namespace muster::launcher {

/// So many agents are asked at the same time.
inline constexpr size_t kGuidesAtOnce = 128;
/// An agent that has not answered by then knows of no leader: most of them are not started yet.
inline constexpr Duration kGuideDeadline = std::chrono::seconds(1);

class LeaderGuide {
 public:
  /// What the answers come to. Both none: nobody that answered knows of the job.
  struct Heard {
    std::optional<rendezvous::Candidate> leader = {};  ///< where one is, as its followers reach it
    /// An agent that knows a round and has no leader now: that one may be out of our reach, and
    /// run.
    std::optional<rendezvous::Candidate> remembering = {};
  };
  using Done = std::function<void(const Heard& heard)>;

  /// Asks about this job. What `doors` names is borrowed.
  LeaderGuide(AgentQuery::Doors doors, std::string run_id)
      : doors_(doors), run_id_(std::move(run_id)) {}
  LeaderGuide(const LeaderGuide&) = delete;
  LeaderGuide& operator=(const LeaderGuide&) = delete;

  /// Asks those of `listed` that are not among `joined` until one of them leads, or follows a
  /// leader that has not joined. `done` is called once, from the loop, within kGuideDeadline. A
  /// further call cancels.
  void ask(const std::vector<rendezvous::Candidate>& listed,
           std::vector<rendezvous::RosterEntry> joined, Done done);

 private:
  void ask_next();
  void answered(const rendezvous::Candidate& agent, const Result<AgentQuery::Answer>& answer);
  void finish();
  void tell_awaited();

  const AgentQuery::Doors doors_;
  const std::string run_id_;
  std::deque<rendezvous::Candidate> waiting_;
  std::vector<rendezvous::RosterEntry> joined_;
  std::vector<std::unique_ptr<AgentQuery>> queries_;  // until the end: one calls from within
  size_t open_ = 0;                                   // of queries_
  Heard heard_;
  std::string awaited_;  // the last reason that was told
  Done done_;
  Timer deadline_;
  Timer end_;
};

}  // namespace muster::launcher
