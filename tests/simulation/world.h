// World: the inside of the simulator, shared by its sources: nodes (world_nodes.cc), network
// (world_network.cc), workers (world_workers.cc), faults and checks (simulator.cc).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "elastic/round_policy.h"
#include "rendezvous/electorate.h"
#include "tests/simulation/simulated_etcd.h"
#include "tests/simulation/simulated_node.h"
#include "tests/simulation/simulator.h"

namespace muster::simulation {

class World {
 public:
  explicit World(const Scenario& scenario);
  Outcome run();

 private:
  // --- time
  void at(TimePoint when, int node, std::function<void()> what);
  void after(Duration delay, int node, std::function<void()> what) {
    at(now_ + delay, node, std::move(what));
  }
  void deliver(Event event);
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  Duration between(Duration low, Duration high) {
    return low + Duration(static_cast<int64_t>(unit() * static_cast<double>((high - low).count())));
  }
  void note(const std::string& text);

  void boot(int node);
  void kill_agent(int node, bool host_too);
  void freeze(int node, Duration length);
  void pump(int node);
  void pump_member(int node);
  void pump_leader(int node);
  void close_leader(int node);
  Node& node(int index) { return nodes_.at(static_cast<size_t>(index)); }

  // --- network
  bool reachable(int a, int b) { return node(a).side == node(b).side; }
  Duration delay(int a, int b);
  void dial(int from, int candidate);
  void dial_place(int from, int candidate, int to);
  void send(uint64_t link, bool to_leader, rendezvous::Message message);
  void carry(uint64_t link, bool to_leader, std::function<void()> what);
  void arrive(uint64_t link, bool to_leader, const std::function<void()>& what);
  void repeat(uint64_t link, bool to_leader);
  void hand_over(const Link& link, bool to_leader, const std::function<void()>& what);
  void close_link(uint64_t link, bool by_from);
  void break_links(int node);
  void confirm_dial(int from, rendezvous::DialId dial, const std::string& host);

  // --- etcd
  void request(int from, const std::function<EtcdReply()>& carry_out);
  void pump_election(int node);
  EtcdReply who_leads(int node);
  EtcdReply campaign(int node, TimePoint since, uint64_t epoch);
  void check_office(int node);
  void etcd_fault();

  // --- workers
  void prepare(int node, const rendezvous::Assign& assign);
  void start(int node, const rendezvous::Assign& assign);
  void stop(int node, uint64_t round, Duration grace);
  void kill(int node, uint64_t round, const std::string& reason);
  void gone(int node);
  void fail_worker(int node);
  void later_for_group(int node, Duration delay, std::function<void()> what);

  void plan_faults();
  void fault();
  void check();
  void trouble(Duration length);
  void live_through(int node, const rendezvous::Assign& assign);
  void check_round(const std::vector<int>& alive);
  void check_running_round(const std::vector<int>& alive);
  void violate(const std::string& what);
  bool over();
  void forget_if_nobody_knows(int fresh);
  bool knowing_elsewhere(int fresh);

  Scenario scenario_;
  std::mt19937_64 random_;
  TimePoint now_{}, begin_{};
  uint64_t next_number_ = 1, next_incarnation_ = 100, next_link_ = 1;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  EtcdPlace etcd_;
  std::map<uint64_t, Link> links_;
  std::deque<std::string> trace_;
  rendezvous::JobOptions options_;
  elastic::RoundPolicyOptions policy_options_;
  int candidates_ = 1;
  Duration work_{};
  bool started_once_ = false;  // partitions begin after the first round (see plan_faults)
  std::string violation_;
  std::string end_;
  bool success_ = false;
  int rounds_ = 0, leaders_ = 0;
  rendezvous::RoundKey newest_running_{};
  LivedRounds lived_;
  bool only_failures_ = false;  // of workers, no other faults
  int restarts_ = 0;            // that the newest running round has behind it
  TimePoint forgotten_until_{};
  bool split_for_good_ = false;
  std::map<uint64_t, int> ranks_;  // of the newest running round, by incarnation
};

}  // namespace muster::simulation
