// World: the inside of the simulator, shared by its sources: nodes (world_nodes.cc), network
// (world_network.cc), workers (world_workers.cc), exchanges (world_exchange.cc), sizes
// (world_sizes.cc), commands (world_commands.cc), faults and checks (simulator.cc).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/world_state.h"

namespace muster::simulation {

class World : private WorldState {
 public:
  explicit World(const Scenario& scenario);
  Outcome run();

 private:
  // --- time
  void at(TimePoint when, int node, std::function<void()> what);
  void after(Duration delay, int node, std::function<void()> what);
  void deliver(Event event);
  void note(const std::string& text);
  void boot(int node);
  rendezvous::MemberSetup member_setup(int node);
  void lead_anew(int node, rendezvous::LeaderSeed seed);
  void kill_agent(int node, bool host_too);
  void freeze(int node, Duration length);
  int haunt(int node);
  void pump(int node);
  void pump_member(int node);
  void pump_leader(int node);
  void close_leader(int node);
  // --- network
  bool carries(int from, int to);
  bool reachable(int a, int b) { return carries(a, b) && carries(b, a); }
  Duration delay(int a, int b);
  void dial(int from, int candidate);
  void dial_place(int from, int candidate, int to);
  void send(uint64_t link, bool to_leader, rendezvous::Message message);
  void carry(uint64_t link, bool to_leader, std::function<void()> what);
  void arrive(uint64_t link, bool to_leader, const std::function<void()>& what);
  void hand_over(const Link& link, bool to_leader, const std::function<void()>& what);
  void repeat(uint64_t link, bool to_leader);
  void close_link(uint64_t link, bool by_from);
  void break_links(int node);
  void confirm_dial(int from, const rendezvous::NodeDial& dial, bool by_leader);
  // --- lists of nodes that change
  void list_host(int node);
  void unlist_later(int node);
  void draw_host(Node& node);
  int draw_late(int nodes);
  int who_has(const rendezvous::Candidate& place);
  bool listed_can_lead();
  std::set<uint64_t> knowing_beyond(int node, const std::vector<rendezvous::Candidate>& others);
  void read_list(int node, std::function<void(std::vector<rendezvous::Candidate> hosts)> done);
  void begin_list(int node, rendezvous::MemberSetup& setup);
  void dial_listed(int from, int candidate);
  void seek(int node);
  void refresh_list(int node);
  void list_refreshed(int node, std::vector<rendezvous::Candidate> hosts);
  void take_leaders(int node, const std::string& leaders);
  void use_new_list(int node);
  void ask_everyone(int leader, const rendezvous::leader_output::AskCandidates& question);
  void ask_listed(int leader, const std::vector<rendezvous::Candidate>& hosts,
                  const rendezvous::leader_output::AskCandidates& question);
  void ask_agents(int from, const std::vector<rendezvous::Candidate>& agents,
                  std::vector<rendezvous::RosterEntry> joined, Guided done);
  void ask_agent(int from, const rendezvous::Candidate& agent, Guided answered);
  // --- etcd
  void request(int from, const std::function<EtcdReply()>& carry_out);
  void pump_election(int node);
  EtcdReply who_leads(int node);
  EtcdReply campaign(int node, TimePoint since, uint64_t epoch);
  void check_office(int node);
  void etcd_fault();
  // --- exchanges
  void give(int node);
  void take(int node, const rendezvous::member_output::ExchangeDone& done);
  void succeed(int node);
  void send_answer(int leader, uint64_t link, const rendezvous::ExchangeAnswer& answer,
                   size_t part);
  // --- workers
  void prepare(int node, const rendezvous::Assign& assign);
  void start(int node, const rendezvous::Assign& assign);
  void stop(int node, uint64_t round, Duration grace);
  void save(int node, const rendezvous::member_output::NotifyWorkers& notice);
  void saved(int node, bool leaves);
  void check_saved(int node, Duration grace);
  void kill(int node, uint64_t round, const std::string& reason);
  void gone(int node);
  void fail_worker(int node, bool for_good = false);
  bool is_unfit();
  void find_unfit(int node);
  void start_alone(int node, const rendezvous::member_output::RestartAlone& answer);
  void make_steps(int node);
  bool is_awaited(int node);
  void later_for_group(int node, Duration delay, std::function<void()> what);

  void plan_faults(bool only_failures);
  void fault(bool only_failures);
  void cut(const Cut& cut);
  bool over();
  bool enough_are_here();
  // --- sizes
  void set_target(std::optional<int> nodes);
  void ask_size(const SizeAsk& ask, int asked, int pointers);
  void ask_around(int victim);
  void hear_acks(int node);
  void take_size(const SizeAsk& ask, int leader);
  void expect_told(int leader, const AskedSize& asked);
  void learn_asked(Link& link, const AskedSize& asked);
  void check_growth(int leader, const std::string& what);
  void begin_led(int leader, const rendezvous::Assign& assign);
  void check_wanted(int leader, const rendezvous::Assign& assign);
  void check_target(const std::vector<int>& alive);
  // --- restarts and the end
  void plan_commands();
  void command(const Command& command);
  void quit(int node);
  // --- the promises
  void check();
  void trouble(Duration length);
  void live_through(int node, const rendezvous::Assign& assign);
  void check_round(const std::vector<int>& alive);
  bool is_apart(const Node& one, const Node& other);
  void check_running_round(const std::vector<int>& alive);
  void check_kept_places(const RanRound& before, const RanRound& now);
  void check_assign(int leader, const rendezvous::Assign& assign);
  void check_closed(const rendezvous::leader_output::CloseLink& closed);
  void check_stopped_launcher(int node);
  void violate(const std::string& what);
  void forget_if_nobody_knows(int fresh, const std::vector<rendezvous::RosterEntry>* here);
  bool knowing_elsewhere(int fresh);
};

}  // namespace muster::simulation
