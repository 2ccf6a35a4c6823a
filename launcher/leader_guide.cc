#include "launcher/leader_guide.h"

#include <utility>

#include "rendezvous/leader_search.h"

namespace muster::launcher {

using rendezvous::Candidate;

void LeaderGuide::ask(std::vector<Candidate> agents, std::vector<Candidate> own, Done done) {
  end_.reset();
  queries_.clear();
  open_ = 0;
  waiting_.assign(agents.begin(), agents.end());
  own_ = std::move(own);
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
  if (answer && rendezvous::leads_others(answer->leader, own_)) return finish(answer->leader);
  ask_next();
}

// Not from within a query, which ends with this.
void LeaderGuide::finish(std::optional<Candidate> leader) {
  if (end_.is_active()) return;
  deadline_.reset();
  found_ = std::move(leader);
  end_ = doors_.loop.soon([this] {
    queries_.clear();
    waiting_.clear();
    open_ = 0;
    std::exchange(done_, nullptr)(found_);
  });
}

}  // namespace muster::launcher
