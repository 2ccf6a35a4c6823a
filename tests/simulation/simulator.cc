#include "tests/simulation/simulator.h"

// The simulator's scenarios, faults and the promises that are checked.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr uint64_t kSeedsPerList = 5;  // one of so many has --nnodes-allowed
constexpr Duration kFaultsUntil = 240s;
constexpr Duration kEndWithin = 400s;       // of the last fault, or of a leader's begin after it
constexpr int kLeadersAfterFaults = 4;      // each begins the join timeout anew
constexpr Duration kToFindEachOther = 60s;  // once there are no more faults
constexpr size_t kMaxGhosts = 14;           // no more than faults

}  // namespace

World::World(const Scenario& scenario) : WorldState(scenario) {
  now_ = begin_ = TimePoint(1000s);
  options_.run_id = "simulated";
  options_.max_nodes = 2 + dice_.below(5);
  options_.min_nodes = std::max(1, options_.max_nodes - dice_.below(options_.max_nodes));
  if (dice_.unit() < 0.2) options_.nodes_step = 2;
  if (scenario.seed % kSeedsPerList == 0)
    options_.allowed_nodes = {options_.min_nodes, options_.max_nodes};
  options_.last_call = dice_.between(1s, 15s);
  options_.lease = dice_.between(5s, 20s);
  options_.join_timeout = 150s;
  options_.replace_wait = dice_.between(1s, 30s);
  options_.stop_grace = dice_.between(0s, 10s);
  options_.lost_grace = 1s;
  policy_options_.restarts.max_restarts = dice_.below(6);
  policy_options_.restarts.backoff = dice_.between(0s, 2s);
  policy_options_.stop_crash_loops = dice_.unit() < 0.5;
  policy_options_.scale_up_interval = 40s;
  policy_options_.scale_up_quiet = 10s;
  policy_options_.replace_wait = options_.replace_wait;
  work_ = dice_.between(30s, 120s);
  options_.spares = dice_.below(3);
  const int count = options_.max_nodes + options_.spares;
  candidates_ = 1 + dice_.below(std::min(3, count));
  features_ = draw_features(scenario.seed, scenario.etcd, count, options_);
  if (scenario.lists && !options_.rule.has_appointed() && !options_.known_nodes)
    features_.list_changes = true;
  policy_options_.window = features_.restart_window;
  if (!features_.asks.empty()) work_ += 60s;  // the more of them come while it runs
  if (options_.rule.has_appointed()) candidates_ = 1;
  nodes_.reserve(static_cast<size_t>(count) + kMaxGhosts);
  nodes_.resize(static_cast<size_t>(count));
  const int early = features_.list_changes ? count - draw_late(count) : count;
  const Duration late = list_dice_.between(5s, 60s);
  for (int i = 0; i < count; ++i) {
    const int machine = features_.machine_of(i);
    node(i).late = i >= early;
    node(i).place = i;
    node(i).name = fmt::format("worker-{}", machine);
    node(i).host = fmt::format("10.0.0.{}", machine + 1);
    node(i).port = 29400 + i - machine;
    draw_host(node(i));
    if (features_.list_is_file && !node(i).late) list_host(i);
    node(i).workers_in_all = features_.workers_of(i);
    Duration begin = dice_.between(0s, dice_.unit() < 0.8 ? Duration(2s) : Duration(40s));
    if (node(i).late) begin = late + list_dice_.between(0s, 2s);
    after(begin, -1, [this, i] { boot(i); });
  }
  const bool only_failures = dice_.unit() < 0.2;
  for (const TargetChange& change : features_.targets)
    after(change.after, -1, [this, nodes = change.nodes] { set_target(nodes); });
  for (const Cut& planned : features_.cuts)
    after(planned.after, -1, [this, planned] { cut(planned); });
  for (const SizeAsk& ask : features_.asks)
    after(ask.after, -1, [this, ask] { ask_size(ask, newest(nodes_, ask.agent), 0); });
  plan_faults(only_failures);
  if (scenario.commands) plan_commands();
}

void World::plan_faults(bool only_failures) {
  const int faults = dice_.below(14);
  for (int i = 0; i < faults; ++i)
    at(begin_ + dice_.between(3s, kFaultsUntil), -1,
       [this, only_failures] { fault(only_failures); });
  at(begin_ + kFaultsUntil + 1s, -1, [this] {
    note("no more faults");
    etcd_.side = 0;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      node(i).side = 0;
      if (node(i).ghost) kill_agent(i, false);
      if (!node(i).up && !node(i).exited && !node(i).ghost) boot(i);
    }
    after(kToFindEachOther, -1, [this] { can_run_ = enough_are_here(); });
  });
}

// Their machines', if several agents share one.
void World::cut(const Cut& cut) {
  disturbed_ = now_;
  note(fmt::format("cut {} {} {}", cut.from, cut.one_way ? "->" : "<->", cut.to));
  std::vector<std::pair<int, int>> ways;
  for (const int from : mates(cut.from)) {
    for (const int to : mates(cut.to)) {
      if (from == to) continue;
      ways.emplace_back(from, to);
      if (!cut.one_way) ways.emplace_back(to, from);
    }
  }
  trouble(kLongestFault);
  for (const auto& [from, to] : ways) {
    for (const int end : {from, to})
      node(end).calm_since = std::max(node(end).calm_since, now_ + cut.length + 2 * options_.lease);
  }
  cut_.insert(ways.begin(), ways.end());
  after(cut.length, -1, [this, cut, ways] {
    disturbed_ = now_;
    note(fmt::format("{} and {} healed", cut.from, cut.to));
    for (const auto& way : ways) cut_.erase(cut_.find(way));
  });
}

// `only_failures`: of workers.
void World::fault(bool only_failures) {
  const auto ghosts = std::ranges::count_if(nodes_, &Node::ghost);
  int victim =
      newest(nodes_, dice_.below(static_cast<int>(nodes_.size()) - static_cast<int>(ghosts)));
  const auto come_back = [this, &victim](Duration low, Duration high) {
    after(dice_.between(low, high), -1, [this, victim] {
      for (const int mate : mates(victim)) {
        if (!node(mate).exited && (mate == victim || node(mate).fell_with_host)) boot(mate);
      }
    });
  };
  const int kind = only_failures ? 6 : dice_.below(9);
  if (scenario_.etcd && !only_failures && dice_.unit() < 0.1) etcd_fault();
  disturbed_ = now_;
  const bool of_workers = kind == 6 || kind == 7;
  const bool of_links = kind == 8;  // they are there again at once
  if (!of_workers && !of_links) trouble(kLongestFault);
  if (!of_workers && features_.asks_at_faults) ask_around(victim);
  if (!of_workers && kind != 3) node(victim).calm_since = now_ + kLongestFault + 2 * options_.lease;
  switch (kind) {
    case 0:
      kill_agent(victim, false);
      return come_back(1ms, dice_.unit() < 0.5 ? Duration(2s) : Duration(60s));
    case 1:
      if (features_.ghosts && node(victim).up) {
        victim = haunt(victim);
        return come_back(1s, 60s);
      }
      for (const int mate : mates(victim)) kill_agent(mate, true);
      return come_back(20s, 90s);
    case 2:
      return freeze(victim, dice_.between(100ms, 40s));
    case 3: {
      note("split");
      for (Node& other : nodes_) other.side = other.ghost ? other.side : dice_.below(2);
      for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
        node(i).side = node(features_.machine_of(i)).side;
      if (scenario_.etcd) etcd_.side = dice_.below(2);
      return after(dice_.between(1s, 60s), -1, [this] {
        disturbed_ = now_;
        note("healed");
        for (Node& other : nodes_) other.side = other.ghost ? other.side : 0;
        etcd_.side = 0;
      });
    }
    case 4:
      node(victim).slow_until = now_ + dice_.between(1s, 30s);
      return note(fmt::format("slow {}", victim));
    case 5:
      if (!node(victim).up || node(victim).frozen_until > now_) return;
      note(fmt::format("preempt {}", victim));
      if (node(victim).lived) node(victim).lived->go.insert(node(victim).incarnation);
      node(victim).member->on_shutdown(now_, dice_.between(0s, 30s), "preempted");
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

bool World::over() {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& other) { return !other.up; }) &&
         now_ > begin_ + kFaultsUntil + 2s;
}

// Enough for a round, somebody who may lead, and most of the last round with what they remember:
// who was started again may have been anywhere.
bool World::enough_are_here() {
  int here = 0;
  std::set<int> ranks;  // where they are known beforehand
  size_t remember = 0;
  bool leads = scenario_.etcd;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    // A spare that had heard of a round which all others have forgotten. It was told how many were
    // in it, not who: so nobody is known to have replaced one of them
    // (LeaderCore::replace_missing), and where all may have been replaced one of them may still
    // lead, on a machine that is cut off.
    const bool heard = node(i).knows && node(i).incarnation < forgotten_before_;
    if (heard && !forgotten_.ranks.contains(node(i).incarnation)) return false;
    if (!node(i).up || node(i).exited) continue;
    ++here;
    ranks.insert(node(i).place % options_.max_nodes);
    if (newest_.ranks.contains(node(i).incarnation)) ++remember;
    leads = leads || (i < candidates_ && !features_.list_changes);
  }
  if (options_.known_nodes) here = static_cast<int>(ranks.size());
  if (features_.list_changes) leads = listed_can_lead();
  return leads && here >= options_.min_nodes && 2 * remember > newest_.ranks.size();
}

Outcome World::run() {
  const TimePoint last_fault = begin_ + kFaultsUntil;
  TimePoint end_by = last_fault + kEndWithin;
  int led = 0;
  while (!events_.empty() && outcome_.violation.empty() && !outcome_.split && !over()) {
    Event event = events_.top();
    events_.pop();
    now_ = event.at;
    if (std::exchange(led, leaders_) != leaders_)
      end_by = std::max(end_by,
                        std::min(now_ + kEndWithin, last_fault + kLeadersAfterFaults * kEndWithin));
    if (now_ > end_by) {
      violate("no end within the time");
      break;
    }
    digest_.add(static_cast<uint64_t>(now_.time_since_epoch().count()));
    digest_.add(static_cast<uint64_t>(event.node + 1));
    deliver(std::move(event));
    check();
  }
  if (can_run_ && outcome_.stops == 0 && !outcome_.success && !outcome_.split &&
      outcome_.violation.empty() && outcome_.end.starts_with("no "))
    violate("enough nodes were left to go on: " + outcome_.end);
  digest_.add(next_number_);
  digest_.add(outcome_.violation.empty() ? 0 : 1);
  outcome_.digest = digest_.value();
  outcome_.seed = scenario_.seed;
  outcome_.last_events.assign(trace_.begin(), trace_.end());
  outcome_.take_overs = std::max(0, leaders_ - 1);
  return outcome_;
}

Outcome simulate(const Scenario& scenario) { return World(scenario).run(); }

}  // namespace muster::simulation
