#include "tests/simulation/simulator.h"

// The simulator's scenarios, faults and the promises that are checked.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr uint64_t kSeedsPerList = 5;  // one of so many has --nnodes-allowed
constexpr Duration kFaultsUntil = 240s;
constexpr Duration kEndWithin = 400s;    // after the last fault
constexpr Duration kLongestFault = 90s;  // until a machine is back
constexpr Duration kToComeAndStop = 5s;  // to find another leader and to stop the workers for it

// In words of its own, because what decides must not judge itself.
bool was_asked_for(const JobOptions& options, int nodes) {
  const auto& list = options.allowed_nodes;
  return nodes >= options.min_nodes && nodes <= options.max_nodes &&
         (nodes - options.min_nodes) % options.nodes_step == 0 &&
         (list.empty() || std::find(list.begin(), list.end(), nodes) != list.end());
}

}  // namespace

World::World(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed) {
  now_ = begin_ = TimePoint(1000s);
  options_.run_id = "simulated";
  options_.max_nodes = 2 + below(5);
  options_.min_nodes = std::max(1, options_.max_nodes - below(options_.max_nodes));
  if (unit() < 0.2) options_.nodes_step = 2;
  if (scenario.seed % kSeedsPerList == 0)
    options_.allowed_nodes = {options_.min_nodes, options_.max_nodes};
  options_.last_call = between(1s, 15s);
  options_.lease = between(5s, 20s);
  options_.join_timeout = 150s;
  options_.replace_wait = between(1s, 30s);
  options_.stop_grace = between(0s, 10s);
  options_.lost_grace = 1s;
  policy_options_.restarts.max_restarts = below(6);
  policy_options_.restarts.backoff = between(0s, 2s);
  policy_options_.stop_crash_loops = unit() < 0.5;
  policy_options_.scale_up_interval = 40s;
  policy_options_.scale_up_quiet = 10s;
  policy_options_.replace_wait = options_.replace_wait;
  work_ = between(30s, 120s);
  const int count = options_.max_nodes + below(3);
  candidates_ = 1 + below(std::min(3, count));
  nodes_.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    node(i).place = i;
    node(i).host = fmt::format("10.0.0.{}", i + 1);
    after(between(0s, unit() < 0.8 ? Duration(2s) : Duration(40s)), -1, [this, i] { boot(i); });
  }
  only_failures_ = unit() < 0.2;
  plan_faults();
}

void World::plan_faults() {
  const int faults = below(14);
  for (int i = 0; i < faults; ++i) at(begin_ + between(3s, kFaultsUntil), -1, [this] { fault(); });
  at(begin_ + kFaultsUntil + 1s, -1, [this] {
    note("no more faults");
    etcd_.side = 0;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      node(i).side = 0;
      if (!node(i).up && !node(i).exited) boot(i);
    }
  });
}

void World::fault() {
  const int victim = below(static_cast<int>(nodes_.size()));
  const auto come_back = [this, victim](Duration low, Duration high) {
    after(between(low, high), -1, [this, victim] {
      if (!node(victim).exited) boot(victim);
    });
  };
  const int kind = only_failures_ ? 6 : below(9);
  if (scenario_.etcd && !only_failures_ && unit() < 0.1) etcd_fault();
  const bool of_workers = kind == 6 || kind == 7;
  if (!of_workers) trouble(kLongestFault);
  switch (kind) {
    case 0:
      kill_agent(victim, false);
      return come_back(1ms, unit() < 0.5 ? Duration(2s) : Duration(60s));
    case 1:
      kill_agent(victim, true);
      return come_back(20s, 90s);
    case 2:
      return freeze(victim, between(100ms, 40s));
    case 3: {
      // A job whose first round has not run has no members yet that could be counted.
      if (!started_once_) return;
      note("split");
      for (Node& other : nodes_) other.side = below(2);
      if (scenario_.etcd) etcd_.side = below(2);
      return after(between(1s, 60s), -1, [this] {
        note("healed");
        for (Node& other : nodes_) other.side = 0;
        etcd_.side = 0;
      });
    }
    case 4:
      node(victim).slow_until = now_ + between(1s, 30s);
      return note(fmt::format("slow {}", victim));
    case 5:
      if (!node(victim).up || node(victim).frozen_until > now_) return;
      note(fmt::format("preempt {}", victim));
      node(victim).member->on_shutdown(now_, between(0s, 30s), "preempted");
      pump(victim);
      return come_back(40s, 80s);
    case 6:
    case 7:
      if (!node(victim).up || node(victim).frozen_until > now_) return;
      fail_worker(victim);
      return pump(victim);
    case 8:
      note(fmt::format("links of {} break", victim));
      return break_links(victim);
  }
}

// --- the promises

void World::check() {
  std::vector<int> alive;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& other = node(i);
    const bool forgotten = other.workers.forgotten && now_ < forgotten_until_;
    const bool counts = other.workers.alive && other.frozen_until <= now_ && !forgotten;
    if (other.up && counts) alive.push_back(i);
  }
  if (alive.empty()) return;
  check_round(alive);
  check_running_round(alive);
}

void World::check_round(const std::vector<int>& alive) {
  const Assign& first = node(alive.front()).workers.assign;
  std::set<int> ranks;
  std::set<int> node_ranks;
  for (const int i : alive) {
    const Assign& assign = node(i).workers.assign;
    if (assign.round != first.round || assign.term != first.term) {
      return violate(fmt::format("round {} (term {}) on {} while round {} (term {}) on {}",
                                 assign.round, assign.term, i, first.round, first.term,
                                 alive.front()));
    }
    if (!node_ranks.insert(assign.node_rank).second) {
      return violate(fmt::format("node rank {} twice in round {}", assign.node_rank, assign.round));
    }
    for (int k = 0; k < 1 + node(i).place % 3; ++k) {
      if (!ranks.insert(assign.rank_offset + k).second) {
        return violate(
            fmt::format("rank {} twice in round {}", assign.rank_offset + k, assign.round));
      }
    }
    if (*ranks.rbegin() >= assign.world_size) violate("rank beyond the world size");
    if (!was_asked_for(options_, assign.node_count)) {
      return violate(fmt::format("round of {} nodes, allowed {}..{} step {}{}", assign.node_count,
                                 options_.min_nodes, options_.max_nodes, options_.nodes_step,
                                 options_.allowed_nodes.empty() ? "" : ", or only these two"));
    }
  }
}

// Once all nodes of a round run: what must hold from one such round to the next.
void World::check_running_round(const std::vector<int>& alive) {
  const Assign& first = node(alive.front()).workers.assign;
  const RoundKey key{first.term, first.round};
  if (static_cast<int>(alive.size()) != first.node_count || key == newest_running_) return;
  for (const int i : alive) {
    if (node(i).workers.state != WorkerState::kRunning) return;
  }
  if (key < newest_running_) violate("an old round runs again");
  int ranks_in_all = 0;
  for (const int i : alive) ranks_in_all += 1 + node(i).place % 3;
  if (ranks_in_all != first.world_size)
    violate(fmt::format("{} ranks run in a world of {}", ranks_in_all, first.world_size));
  newest_running_ = key;
  started_once_ = true;
  ++rounds_;
  // Where a minority may go on, so may one that knows of no restart.
  if (first.budget.restarts_charged < restarts_ && !scenario_.etcd) {
    violate(fmt::format("budget lost: {} restarts were charged, now {}", restarts_,
                        first.budget.restarts_charged));
  }
  restarts_ = node(alive.front()).lived->restarts;
  std::map<uint64_t, int> ranks;
  for (const int i : alive) ranks[node(i).incarnation] = node(i).workers.assign.node_rank;
  const bool same = ranks.size() == ranks_.size() &&
                    std::equal(ranks.begin(), ranks.end(), ranks_.begin(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same && ranks != ranks_) violate("same members, other ranks");
  ranks_ = std::move(ranks);
}

// The job's memory is in its agents, and a fresh candidate asks the other candidates. Where none of
// those is left that could tell it, a new job begins, as far as it can know. The members of the old
// one come and tell within moments, and a round of fewer than all waits for them
// (LeaderCore::may_be_partial). One of all does not wait, because every job begins so. If the
// network keeps them from coming, both may run until the old ones fence themselves.
void World::forget_if_nobody_knows(int fresh) {
  for (int i = 0; i < candidates_; ++i) {
    const Node& other = node(i);
    if (other.up && other.knows && other.frozen_until <= now_ && reachable(fresh, i)) return;
  }
  // Cut off from everybody who knows, two jobs may go on for ever; no rule between candidates can
  // keep them apart (CONTROL_PROTOCOL.md, end), so there is nothing more to check in this world.
  if (knowing_elsewhere(fresh)) {
    note("two jobs");
    split_for_good_ = true;
  }
  const bool trouble = std::any_of(nodes_.begin(), nodes_.end(), [this](const Node& other) {
    return other.slow_until > now_ || other.frozen_until > now_ || other.side != nodes_[0].side;
  });
  for (Node& other : nodes_) other.workers.forgotten = true;
  forgotten_until_ = now_ + (trouble ? options_.lease : kToComeAndStop);
  newest_running_ = {};
  restarts_ = 0;
  lived_.forget();
  ranks_.clear();
}

bool World::knowing_elsewhere(int fresh) {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (node(i).up && node(i).knows && !reachable(fresh, i)) return true;
  }
  return false;
}

bool World::over() {
  if (split_for_good_) return true;
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& other) { return !other.up; }) &&
         now_ > begin_ + kFaultsUntil + 2s;
}

Outcome World::run() {
  while (!events_.empty() && violation_.empty() && !over()) {
    Event event = events_.top();
    events_.pop();
    now_ = event.at;
    if (now_ > begin_ + kFaultsUntil + kEndWithin) {
      violate("no end within the time");
      break;
    }
    deliver(std::move(event));
    check();
  }
  Outcome outcome;
  outcome.seed = scenario_.seed;
  outcome.violation = violation_;
  outcome.end = end_;
  outcome.last_events.assign(trace_.begin(), trace_.end());
  outcome.rounds = rounds_;
  outcome.take_overs = std::max(0, leaders_ - 1);
  outcome.success = success_;
  return outcome;
}

Outcome simulate(const Scenario& scenario) { return World(scenario).run(); }

}  // namespace muster::simulation
