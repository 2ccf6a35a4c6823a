#include "tests/simulation/features.h"

#include <algorithm>
#include <iterator>

namespace muster::simulation {

using namespace std::chrono_literals;
using rendezvous::JobOptions;

namespace {

constexpr uint64_t kOtherDice = 0x6665617475726573;  // of the same seed

std::vector<bool> draw_numbers(Dice& dice, int nodes) {
  const double all = dice.unit();
  std::vector<bool> numbered;
  for (int i = 0; i < nodes; ++i)
    numbered.push_back(all < 0.5 || (all < 0.75 && dice.unit() < 0.5));
  return numbered;
}

void draw_launcher(Dice& dice, bool etcd, Features& features) {
  const bool launches = dice.unit() < 0.3;
  const bool elastic = dice.unit() < 0.7;
  const bool one_node = dice.unit() < 0.4;
  const bool apart = dice.unit() < 0.5;
  if (!launches) return;
  features.elastic = elastic;
  // Who has the role is told by name, not elected.
  features.launch = one_node && !etcd ? Launch::kOneNode : Launch::kFirstNode;
  features.apart = features.launch == Launch::kOneNode && apart;
}

// What the command line makes of it.
void tell(const Features& features, JobOptions& options) {
  if (features.elastic) options.rule.takes_part = rendezvous::TakesPart::kLeadersNode;
  if (features.launch != Launch::kAgents) options.rule.decides = rendezvous::Decides::kFirstNode;
  if (features.launch == Launch::kOneNode) options.rule.first = rendezvous::FirstNode::kAppointed;
  if (features.apart) options.rule.first = rendezvous::FirstNode::kApart;
  if (features.elastic) options.last_call = 0s;
  if (!features.apart) return;
  options.min_nodes = std::max(options.min_nodes, 2);
  if (!options.allowed_nodes.empty())
    options.allowed_nodes = {options.min_nodes, options.max_nodes};
}

std::vector<TargetChange> draw_targets(Dice& dice, const JobOptions& options) {
  std::vector<TargetChange> targets;
  const int changes = dice.unit() < 0.3 ? 1 + dice.below(3) : 0;
  for (int i = 0; i < changes; ++i) {
    const int nodes = options.min_nodes + dice.below(options.max_nodes - options.min_nodes + 1);
    targets.push_back({dice.between(2s, 200s), largest_allowed(options, nodes)});
    if (dice.unit() < 0.3) targets.back().nodes.reset();
  }
  std::ranges::sort(targets, {}, &TargetChange::after);
  return targets;
}

std::vector<Cut> draw_cuts(Dice& dice, int nodes) {
  std::vector<Cut> cuts;
  const int count = dice.unit() < 0.3 ? 1 + dice.below(4) : 0;
  for (int i = 0; i < count; ++i) {
    const int from = dice.below(nodes);
    const int to = (from + 1 + dice.below(nodes - 1)) % nodes;
    cuts.push_back({dice.between(0s, 180s), dice.between(1s, 60s), from, to, dice.unit() < 0.5});
  }
  return cuts;
}

std::vector<SizeAsk> draw_asks(Dice& dice, int nodes, const JobOptions& options) {
  std::vector<SizeAsk> asks;
  const int count = dice.unit() < 0.4 ? 1 + dice.below(4) : 0;
  for (int i = 0; i < count; ++i) {
    SizeAsk ask{dice.between(1s, 180s), draw_size(dice, options), dice.below(nodes), {}};
    if (i > 0 && dice.unit() < 0.5) ask.after = asks.back().after + dice.between(0s, 10s);
    if (dice.unit() < 0.3) ask.leader_lives = dice.between(0s, dice.unit() < 0.5 ? 20ms : 3s);
    asks.push_back(ask);
  }
  return asks;
}

// The static backend: every node was told its rank, and the job has one size.
void know_all(Features& features, JobOptions& options) {
  options.known_nodes = true;
  options.min_nodes = options.max_nodes;
  options.nodes_step = 1;
  options.allowed_nodes.clear();
  features.targets.clear();
  features.asks.clear();
  features.asks_at_faults = false;
}

}  // namespace

std::vector<int> Features::mates_of(int node, size_t nodes) const {
  std::vector<int> mates;
  for (int i = 0; i < static_cast<int>(nodes); ++i) {
    if (machine_of(i) == machine_of(node)) mates.push_back(i);
  }
  return mates;
}

bool was_asked_for(const JobOptions& options, int nodes) {
  if (options.rule.leader_alone()) return nodes == 1;
  const auto& list = options.allowed_nodes;
  return nodes >= options.min_nodes && nodes <= options.max_nodes &&
         (nodes - options.min_nodes) % options.nodes_step == 0 &&
         (list.empty() || std::find(list.begin(), list.end(), nodes) != list.end());
}

int draw_size(Dice& dice, const JobOptions& options) {
  constexpr int kLargest = 5000;
  const int apart = options.rule.has_apart() ? 1 : 0;
  const int some = options.min_nodes + dice.below(options.max_nodes - options.min_nodes + 1);
  const int size = largest_allowed(options, some).value_or(some) - apart;
  const double kind = dice.unit();
  if (kind < 0.15) return 0;
  if (kind < 0.8) return size;
  const int others[] = {options.min_nodes - apart - 1, options.max_nodes - apart + 1, size + 1,
                        kLargest, -1};
  return others[dice.below(static_cast<int>(std::size(others)))];
}

Features draw_features(uint64_t seed, bool etcd, int nodes, JobOptions& options) {
  Dice dice(seed ^ kOtherDice);
  Features features;
  features.numbered = draw_numbers(dice, nodes);
  features.pairs = dice.unit() < 0.2;
  // Else nobody could tell the two apart.
  if (features.pairs) features.numbered.assign(features.numbered.size(), true);
  const bool window = dice.unit() < 0.3;
  const Duration length = dice.between(10s, 120s);
  if (window) features.restart_window = length;
  draw_launcher(dice, etcd, features);
  tell(features, options);
  features.targets = draw_targets(dice, options);
  if (features.elastic) features.targets.clear();  // its round has one size
  features.moves = dice.unit() < 0.2 && !features.pairs;
  features.link_breaks = dice.unit() < 0.2;
  features.cuts = draw_cuts(dice, nodes);
  if (dice.unit() < 0.2) options.lease = dice.unit() < 0.5 ? 2s : 30s;  // the least, the usual
  // One that could go on alone would be another job, of which nobody may know.
  const bool ends_alone = options.min_nodes > 1 && !features.elastic && !features.pairs;
  features.ghosts = dice.unit() < 0.25 && ends_alone;
  features.asks = draw_asks(dice, nodes, options);
  features.asks_at_faults = dice.unit() < 0.5 && !features.asks.empty();
  const bool steps = dice.unit() < 0.4;
  const Duration step = dice.between(2s, 20s);
  if (steps) features.step = step;
  const bool known = dice.unit() < 0.15 && !etcd && features.launch == Launch::kAgents;
  if (known) know_all(features, options);
  // With static ranks who may lead has one of them.
  features.list_changes = dice.unit() < 0.2 && !options.rule.has_appointed() && !etcd && !known;
  features.exchanges = dice.unit() < 0.15 && features.launch == Launch::kAgents;
  // The addresses of a service have one port.
  features.list_is_file = dice.unit() < 0.4 || features.pairs;
  features.save = dice.between(0s, 20s);
  features.ends_saved = dice.unit() < 0.5;
  options.preempt_notify_all = dice.unit() < 0.3;
  // Steps would give some of these restarts back.
  features.alone = dice.unit() < 0.3 && features.launch == Launch::kAgents && !features.step;
  const bool unfit = dice.unit() < 0.2;
  options.health_cooldown = dice.between(1s, 20s);
  if (unfit) features.unfit_until = dice.between(1s, 150s);
  return features;
}

}  // namespace muster::simulation
