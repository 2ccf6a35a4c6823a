#include "launcher/agent/leading/leader_guide.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
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
  heard_ = {};
  done_ = std::move(done);
  deadline_ = doors_.loop.after(kGuideDeadline, [this] { finish(); });
  ask_next();
}

void LeaderGuide::ask_next() {
  while (open_ < kGuidesAtOnce && !waiting_.empty()) {
    ++open_;
    const Candidate agent = std::move(waiting_.front());
    waiting_.pop_front();
    queries_.push_back(std::make_unique<AgentQuery>(
        doors_, AgentQuestion{.agents = {agent}, .run_id = run_id_, .follow = false},
        [this, agent](const Result<AgentQuery::Answer>& answer) { answered(agent, answer); }));
  }
  if (open_ == 0) finish();
}

void LeaderGuide::answered(const Candidate& agent, const Result<AgentQuery::Answer>& answer) {
  --open_;
  if (!answer || !answer->knows_job) return ask_next();
  if (!answer->leader) {
    heard_.remembering = agent;
    return ask_next();
  }
  const Candidate& leader = *answer->leader;
  const bool is_here = std::ranges::any_of(joined_, [&leader](const rendezvous::RosterEntry& node) {
    return node.host == leader.host && node.port == leader.port;
  });
  if (is_here) return ask_next();
  heard_.leader = leader;
  finish();
}

// Not from within a query, which ends with this.
void LeaderGuide::finish() {
  if (end_.is_active()) return;
  deadline_.reset();
  end_ = doors_.loop.soon([this] {
    queries_.clear();
    waiting_.clear();
    open_ = 0;
    tell_awaited();
    std::exchange(done_, nullptr)(std::exchange(heard_, {}));
  });
}

void LeaderGuide::tell_awaited() {
  if (heard_.leader || !heard_.remembering) return;
  std::string reason = heard_.remembering->to_string() +
                       " was in this job and has no leader now: another part of it may run, which "
                       "must be found, or this agent end";
  if (std::exchange(awaited_, reason) != reason) log::info("leader.awaited", {{"reason", reason}});
}

}  // namespace muster::launcher
