// LeaderGuide: finds the leader of a running job by asking agents that need not be those who may
// lead. A host file or a service that has changed may name none of those any more whom the nodes of
// a running round follow.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/agent_query.h"
#include "rendezvous/host_list.h"

namespace muster::launcher {

/// So many agents are asked at the same time.
inline constexpr size_t kGuidesAtOnce = 128;
/// Who has not answered by then knows of no leader: most of them are not started yet.
inline constexpr Duration kGuideDeadline = std::chrono::seconds(1);

class LeaderGuide {
 public:
  /// Where a leader is, as its followers reach it; none = nobody that answered knows of one.
  using Done = std::function<void(std::optional<rendezvous::Candidate> leader)>;

  /// Asks about this job. What `doors` names is borrowed.
  LeaderGuide(AgentQuery::Doors doors, std::string run_id)
      : doors_(doors), run_id_(std::move(run_id)) {}
  LeaderGuide(const LeaderGuide&) = delete;
  LeaderGuide& operator=(const LeaderGuide&) = delete;

  /// Asks `agents` until one leads or follows a leader that is none of `own`. `done` is called
  /// once, from the loop, within kGuideDeadline. A further call cancels.
  void ask(std::vector<rendezvous::Candidate> agents, std::vector<rendezvous::Candidate> own,
           Done done);
  [[nodiscard]] bool asks() const { return done_ != nullptr; }
  /// That one is followed: until the next answer it counts as found.
  void follow(const rendezvous::Candidate& leader) {
    if (found_ != leader) found_ = leader;
  }
  /// What came of the last question that is answered; or who was followed since.
  [[nodiscard]] const std::optional<rendezvous::Candidate>& found() const { return found_; }

 private:
  void ask_next();
  void answered(const Result<AgentQuery::Answer>& answer);
  void finish(std::optional<rendezvous::Candidate> leader);

  const AgentQuery::Doors doors_;
  const std::string run_id_;
  std::deque<rendezvous::Candidate> waiting_;
  std::vector<rendezvous::Candidate> own_;
  std::optional<rendezvous::Candidate> found_;
  std::vector<std::unique_ptr<AgentQuery>> queries_;  // until finish(): one calls from within
  size_t open_ = 0;                                   // of queries_
  Done done_;
  Timer deadline_, end_;
};

}  // namespace muster::launcher
