// WorldState: what there is in the simulator's world at one moment. World (world.h) changes it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elastic/round_policy.h"
#include "rendezvous/agreement/electorate.h"
#include "tests/simulation/asked_sizes.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/digest.h"
#include "tests/simulation/features.h"
#include "tests/simulation/simulated_etcd.h"
#include "tests/simulation/simulated_node.h"
#include "tests/simulation/simulator.h"

namespace muster::simulation {

class WorldState {
 protected:
  explicit WorldState(const Scenario& scenario)
      : scenario_(scenario), dice_(scenario.seed), list_dice_(scenario.seed ^ kListDice) {}

  Node& node(int index) { return nodes_.at(static_cast<size_t>(index)); }
  std::vector<int> mates(int node) { return features_.mates_of(node, nodes_.size()); }

  Scenario scenario_;
  Dice dice_;
  Dice list_dice_;
  Features features_;
  TimePoint now_{};
  TimePoint begin_{};
  TimePoint forgotten_until_{};
  TimePoint disturbed_{};
  TimePoint last_boot_{};
  Duration work_{};
  uint64_t next_number_ = 1;
  uint64_t next_incarnation_ = 100;
  uint64_t next_link_ = 1;
  uint64_t forgotten_before_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  EtcdPlace etcd_;
  ListedHosts listed_;
  std::set<uint64_t> apart_;  // agents of which a leader of others did not hear in time
  std::map<uint64_t, Link> links_;
  std::multiset<std::pair<int, int>> cut_;  // from, to
  std::deque<std::string> trace_;
  rendezvous::JobOptions options_;
  elastic::RoundPolicyOptions policy_options_;
  int candidates_ = 1;
  int leaders_ = 0;
  bool can_run_ = false;
  Outcome outcome_;
  Digest digest_;
  Target target_;
  AskedSizes asked_;
  RanRound newest_;
  RanRound forgotten_;
  LivedRounds lived_;
};

}  // namespace muster::simulation
