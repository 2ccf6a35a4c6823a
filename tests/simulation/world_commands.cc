// What users want of the simulator's jobs: another round (`muster restart`), the end (`muster
// stop`), and the check of what comes of it.
#include <fmt/core.h>

#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr uint64_t kCommandDice = 0x636f6d6d616e6473;  // of their own: a seed means the same faults
constexpr int kMostRestarts = 3;
constexpr Duration kBack = 5s;  // an agent that was killed

}  // namespace

void World::plan_commands() {
  Dice dice(scenario_.seed ^ kCommandDice);
  const auto plan = [this, &dice](JobCommandKind kind) {
    Command command{kind, dice.below(static_cast<int>(nodes_.size())), {}, {}};
    const bool in_trouble = dice.unit() < 0.5;
    for (int i = 0; in_trouble && i < static_cast<int>(nodes_.size()); ++i)
      if (dice.unit() < 0.5) command.unlinked.push_back(i);
    const Duration lives = dice.between(1ms, 100ms);
    if (in_trouble) command.leader_lives = lives;
    after(dice.between(10s, 240s), -1, [this, command] { this->command(command); });
  };
  for (int i = dice.below(kMostRestarts + 1); i > 0; --i) plan(JobCommandKind::kRestart);
  if (dice.unit() < 0.7) plan(JobCommandKind::kStop);
}

// To an agent, or to the one that it follows.
void World::command(const Command& command) {
  int asked = newest(nodes_, command.agent);
  if (node(asked).up && !node(asked).leader) {
    const auto leader = node(asked).member->leader();
    const auto link =
        leader ? node(asked).candidate_links.find(*leader) : node(asked).candidate_links.end();
    if (link == node(asked).candidate_links.end() || !reachable(asked, links_.at(link->second).to))
      return;
    asked = links_.at(link->second).to;
  }
  Node& owner = node(asked);
  if (!owner.up || !owner.leader || owner.frozen_until > now_) return;
  const bool stops = command.kind == JobCommandKind::kStop;
  for (const int other : command.unlinked) {
    if (newest(nodes_, other) != asked) break_links(newest(nodes_, other));
  }
  const Status obeyed = owner.leader->obey(now_, {{command.kind, ""}, "user"});
  note(fmt::format("{} is asked for {}{}", asked, stops ? "the end" : "a restart",
                   obeyed ? "" : ": " + obeyed.error().text));
  if (obeyed) {
    trouble(0s);
    disturbed_ = now_;
    ++(stops ? outcome_.stops : outcome_.restarts);
    owner.leads_to_end = owner.leads_to_end || stops;
    for (Node& other : nodes_)
      other.calm_since = std::max(other.calm_since, now_ + kLongestFault + 2 * options_.lease);
  }
  pump(asked);
  if (!command.leader_lives) return;
  after(*command.leader_lives, asked, [this, asked] {
    trouble(kLongestFault);
    kill_agent(asked, false);
    after(kBack, -1, [this, asked] {
      if (!node(asked).exited) boot(asked);
    });
  });
}

// The agent's part: it goes as if it had got SIGTERM.
void World::quit(int index) {
  Node& owner = node(index);
  if (std::exchange(owner.told_to_end, true)) return;
  note(fmt::format("{} is told to go", index));
  if (owner.lived) owner.lived->go.insert(owner.incarnation);
  owner.member->on_shutdown(now_, options_.stop_grace, "the job is to end");
}

}  // namespace muster::simulation
