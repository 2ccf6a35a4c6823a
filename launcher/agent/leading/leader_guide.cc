#include "launcher/agent/leading/leader_guide.h"

#include <algorithm>
#include <utility>

#include "rendezvous/finding/missing_hosts.h"

namespace muster::launcher {

using rendezvous::Candidate;

void LeaderGuide::ask(const std::vector<Candidate>& listed,
                      std::vector<rendezvous::RosterEntry> joined, Done done) {
  end_.reset();
  queries_.clear();
  open_ = 0;
  const std::vector<bool> here = rendezvous::find_joined(listed, joined);
  waiting_.clear();
  for (size_t i = 0; i < listed.size(); ++i) {
    if (!here[i]) waiting_.push_back(listed[i]);
  }
  joined_ = std::move(joined);
  done_ = std::move(done);
  deadline_ = doors_.loop.after(kGuideDeadline, [this] { finish(std::nullopt); });
  ask_next();
}

void LeaderGuide::ask_next() {
  while (open_ < kGuidesAtOnce && !waiting_.empty()) {
    ++open_;
    queries_.push_back(std::make_unique<AgentQuery>(
        doors_, AgentQuestion{.agents = {waiting_.front()}, .run_id = run_id_, .follow = false},
        [this](const Result<AgentQuery::Answer>& answer) { answered(answer); }));
    waiting_.pop_front();
  }
  if (open_ == 0) finish(std::nullopt);
}

void LeaderGuide::answered(const Result<AgentQuery::Answer>& answer) {
  --open_;
  const bool leads_others =
      answer && answer->leader &&
      std::ranges::none_of(joined_, [&answer](const rendezvous::RosterEntry& node) {
        return node.host == answer->leader->host && node.port == answer->leader->port;
      });
  if (leads_others) return finish(answer->leader);
  ask_next();
}

// Not from within a query, which ends with this.
void LeaderGuide::finish(std::optional<Candidate> leader) {
  if (end_.is_active()) return;
  deadline_.reset();
  end_ = doors_.loop.soon([this, leader = std::move(leader)] {
    queries_.clear();
    waiting_.clear();
    open_ = 0;
    std::exchange(done_, nullptr)(leader);
  });
}

}  // namespace muster::launcher
