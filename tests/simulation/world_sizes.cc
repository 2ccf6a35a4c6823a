// How many nodes the simulator's jobs shall have: lists of hosts that change, users who ask
// (`muster scale`), and the checks of what comes of it.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/json.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace rendezvous;

namespace {

constexpr Duration kToLearnTarget = milliseconds(300);  // from one agent to the next
constexpr Duration kToTell = milliseconds(500);         // all nodes, where nothing is in the way
constexpr Duration kToResize = seconds(30);  // a round that is stopped for it is gone by then
constexpr int kMaxPointers = 3;              // as launcher/agent/serving/agent_query.h

// As its leader says; `max`: what it says where nobody asked for a number.
int wanted_by(const Leader& leader, TimePoint now) {
  const auto status = parse_json(leader.status_json(now));
  return status ? status->value("target_nodes", -1) : -1;
}

}  // namespace

// Each agent learns of it when it looks the next time; who is started later reads the new one.
void World::set_target(std::optional<int> nodes) {
  note(nodes ? fmt::format("target {}", *nodes) : "no target");
  target_.nodes = nodes;
  Duration delay{};
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i, delay += kToLearnTarget) {
    after(delay, i, [this, i, nodes] {
      node(i).target = nodes;
      const bool hears = scenario_.bug != Bug::kDeafLeader;
      if (node(i).leader && hears) (void)node(i).leader->follow_list(nodes);  // it is allowed
    });
  }
  target_.known = now_ + delay;
}

// The way of `muster scale`: to an agent, from there to the one that it follows. The user may have
// gone when a frozen one hears of it.
void World::ask_size(const SizeAsk& ask, int asked, int pointers) {
  const int user = newest(nodes_, ask.agent);  // on that machine
  after(delay(user, asked), asked, [this, ask, asked, pointers] {
    if (!reachable(newest(nodes_, ask.agent), asked)) return;
    Node& owner = node(asked);
    if (owner.leader) return take_size(ask, asked);
    const auto leader = owner.member->leader();
    if (!leader || pointers == kMaxPointers) return;
    const auto link = owner.candidate_links.find(*leader);
    if (link != owner.candidate_links.end())
      ask_size(ask, links_.at(link->second).to, pointers + 1);
  });
}

// Of who may be about to lose the others, and of any agent when another leader may be there.
void World::ask_around(int victim) {
  const auto ask_in = [this](Duration delay, int agent) {
    const SizeAsk ask{delay, draw_size(dice_, options_), agent, {}};
    after(delay, -1, [this, ask] { ask_size(ask, newest(nodes_, ask.agent), 0); });
  };
  const int soon = 1 + dice_.below(3);
  for (int i = 0; i < soon; ++i) ask_in(dice_.between(seconds(0), seconds(2)), node(victim).place);
  const int any = dice_.below(static_cast<int>(features_.numbered.size()));
  ask_in(options_.lease + dice_.between(seconds(0), seconds(20)), any);
}

void World::take_size(const SizeAsk& ask, int index) {
  Node& owner = node(index);
  const int before = wanted_by(*owner.leader, now_);
  const Status taken = owner.leader->resize(now_, {.nodes = ask.nodes, .by = "user"});
  const std::string what = fmt::format("{} is asked for {} nodes", index, ask.nodes);
  note(what + (taken ? "" : ": " + taken.error().text));
  const int nodes = ask.nodes == 0 ? 0 : ask.nodes + (features_.apart ? 1 : 0);
  const bool may_be = !options_.rule.leader_alone() && !owner.target &&
                      (ask.nodes == 0 || (ask.nodes > 0 && was_asked_for(options_, nodes)));
  if (!taken) {
    if (wanted_by(*owner.leader, now_) != before)
      violate(what + ", refuses and changes its target");
    if (may_be && taken.error().code != Code::kPeer)
      violate(what + ", a size of the job, and refuses");
    return;
  }
  if (!may_be) violate(what + ", no size of the job, and takes it");
  // Before its first round a leader looks for others once a lease.
  const bool looked = owner.leader->round() > 0 || now_ - disturbed_ >= 2 * options_.lease;
  const bool may_know = now_ - owner.broken_at >= lease_times(options_.lease).touch && looked;
  if (newest_.key.term > owner.leader->term() && may_know)
    violate(what + " and takes it, while a round of a later leader runs");
  ++outcome_.resizes;
  const uint64_t term = std::max(owner.leader->term(), owner.leads_with.term);
  const AskedSize asked = asked_.take(now_, term, nodes);
  owner.leads_with.learn(now_, asked);
  expect_told(index, asked);
  if (!ask.leader_lives) return;
  after(*ask.leader_lives, index, [this, index] {
    trouble(kLongestFault);
    node(index).calm_since = now_ + kLongestFault + 2 * options_.lease;
    kill_agent(index, false);
    after(dice_.between(milliseconds(1), seconds(40)), -1, [this, index] {
      if (!node(index).exited) boot(index);
    });
  });
}

// Who can hear its leader is told at once, for the next one.
void World::expect_told(int leader, const AskedSize& asked) {
  std::vector<uint64_t> here;
  for (const auto& [id, link] : links_) {
    const Node& other = node(link.from);
    const bool quick = std::max(other.slow_until, node(leader).slow_until) < now_ &&
                       other.frozen_until < now_ && link.from_leader.held.empty() &&
                       link.from_leader.last <= now_;
    const bool open = link.to == leader && link.from_open && link.to_open && link.joined &&
                      link.to_incarnation == node(leader).incarnation && other.up &&
                      link.from_incarnation == other.incarnation;
    if (open && quick && reachable(link.from, leader)) here.push_back(id);
  }
  after(kToTell, -1, [this, leader, asked, here, since = now_] {
    if (disturbed_ >= since) return;
    for (const uint64_t id : here) {
      const auto link = links_.find(id);
      if (link == links_.end() || !link->second.from_open) continue;
      const int other = link->second.from;
      if (node(other).told.order() < asked.order())
        violate(fmt::format("{} did not tell {} that {} nodes were asked for", leader, other,
                            asked.nodes));
    }
  });
}

// Unless it refused the join.
void World::learn_asked(Link& link, const AskedSize& asked) {
  Node& leads = node(link.to);
  const auto here = leads.leader->nodes();
  link.joined = std::ranges::any_of(here, [&link](const RosterEntry& entry) {
    return entry.identity.incarnation == link.from_incarnation;
  });
  if (link.joined) leads.leads_with.learn(now_, asked);
}

// Unless it gave up the link before.
void World::hear_acks(int index) {
  Node& owner = node(index);
  for (const auto& [id, asked] : std::exchange(owner.acks, {})) {
    const auto link = links_.find(id);
    if (link != links_.end() && link->second.from_open) owner.told.learn(now_, asked);
  }
}

// What a leader was told counts for the rounds that it forms.
void World::check_wanted(int index, const Assign& assign) {
  const Node& owner = node(index);
  const int nodes = assign.node_count;
  if (owner.target && nodes > *owner.target)
    violate(
        fmt::format("{} forms a round of {} nodes, its target is {}", index, nodes, *owner.target));
  if (owner.target || options_.rule.leader_alone() || assign.node_rank != 0) return;
  const int wanted = wanted_by(*owner.leader, now_);
  const bool unasked = owner.leads_with.number == 0 && wanted == options_.max_nodes;
  const bool most = wanted == options_.max_nodes && asked_.may_be(owner.leads_with, 0);
  if (!unasked && !most && !asked_.may_be(owner.leads_with, wanted))
    violate(fmt::format("{} wants {} nodes, after {} were asked for", index, wanted,
                        owner.leads_with.nodes));
  if (nodes > wanted)
    violate(fmt::format("{} forms a round of {} nodes, {} were asked for", index, nodes, wanted));
}

// A round is not stopped to grow, nor is the next one larger, before the times for that are over.
// Each leader counts from the rounds that it began itself.
void World::check_growth(int index, const std::string& what) {
  const LedRounds& led = node(index).led;
  if (now_ < led.began + policy_options_.scale_up_quiet ||
      now_ < led.grew + policy_options_.scale_up_interval)
    violate(fmt::format("{} grows too soon: {}", index, what));
}

void World::begin_led(int index, const Assign& assign) {
  LedRounds& led = node(index).led;
  const RoundKey key{assign.term, assign.round};
  if (led.newest == key) return;  // told to its other nodes
  apart_.merge(node(index).list.unheard);
  // Else it has learned of another leader's round meanwhile.
  const bool follows = led.newest.term == assign.term && led.newest.round + 1 == assign.round;
  if (follows && !led.growing && assign.node_count > led.nodes)
    check_growth(index, fmt::format("from {} to {} nodes", led.nodes, assign.node_count));
  if (led.newest == RoundKey{} || led.growing) led.grew = now_;
  led.newest = key;
  led.nodes = assign.node_count;
  led.began = now_;
  led.growing = false;
}

// A round beyond the target ends, and so does one that could grow; unless workers are done.
void World::check_target(const std::vector<int>& alive) {
  const Node& first = node(alive.front());
  const int nodes = first.workers.assign.node_count;
  if (options_.rule.leader_alone() || static_cast<int>(alive.size()) < nodes) return;
  TimePoint since = std::max({first.lived->began, lived_.trouble_until(), forgotten_until_});
  int wanted = options_.max_nodes;
  if (target_.known != TimePoint{}) since = std::max(since, target_.known);
  if (target_.nodes) {
    wanted = *target_.nodes;
  } else {
    const auto leads = std::ranges::find_if(nodes_, [&first](const Node& other) {
      return other.up && other.leader && other.leader->round() == first.workers.assign.round;
    });
    if (leads == nodes_.end() || !asked_.is_newest(leads->leads_with)) return;
    since = std::max(since, leads->leads_with.known);
    if (leads->leads_with.nodes > 0) wanted = leads->leads_with.nodes;
  }
  if (nodes > wanted && now_ > since + kToResize)
    violate(fmt::format("a round of {} nodes goes on, the target is {}", nodes, wanted));
  since = std::max(since, last_boot_);
  if (now_ <=
      since + policy_options_.scale_up_interval + policy_options_.scale_up_quiet + kToResize)
    return;
  const auto here = std::ranges::count_if(
      nodes_, [](const Node& other) { return other.up && !other.exited && !other.ghost; });
  const auto possible = largest_allowed(options_, std::min(static_cast<int>(here), wanted));
  // No round is stopped for a node that failed a health check.
  const bool all_fit = outcome_.unfit == 0;
  if (all_fit && possible && nodes < *possible)
    violate(fmt::format("a round of {} nodes stays small, {} are there, the target is {}", nodes,
                        here, wanted));
  outcome_.settled = true;
}

}  // namespace muster::simulation
