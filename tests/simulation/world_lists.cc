// The simulator's lists of nodes that change while the job runs: who is named there, what each node
// reads of it before it knows of a round, and whom it asks beyond those who may lead by it. As
// launcher/agent/node_agent_links.cc does it with launcher/agent/finding/candidate_list and
// launcher/leader_guide.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "rendezvous/finding/discovery.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/finding/missing_hosts.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace rendezvous;

namespace {

// As in the launcher.
constexpr Duration kListRefresh = seconds(2);
constexpr Duration kGuideDeadline = seconds(1);
// What is read may be old. Nodes that are in no list of a newcomer are not found (ARCHITECTURE.md,
// "How nodes find each other"): so it is younger than the time that a first round of fewer than all
// waits, 1 s and more.
constexpr double kReadsLate = 0.3;  // of all reads
constexpr Duration kLatest = seconds(1);
// Whoever keeps the list takes out a host that has ended.
constexpr Duration kSoonest = seconds(1);
constexpr Duration kLongest = seconds(60);
constexpr Duration kSlowestLookup = milliseconds(50);

Candidate place_of(const Node& node) {
  return {.host = node.host, .port = static_cast<uint16_t>(node.port)};
}

std::vector<std::string> names_of(const std::vector<Candidate>& list) {
  std::vector<std::string> names;
  for (const Candidate& candidate : list) names.push_back(candidate.to_string());
  return names;
}

std::vector<Candidate> leaders_of(std::vector<Candidate> hosts) {
  if (hosts.size() > kLeadersOfHosts) hosts.resize(kLeadersOfHosts);
  return hosts;
}

}  // namespace

void ListedHosts::put(TimePoint now, const Candidate& host) {
  auto hosts = at(now);
  if (std::ranges::find(hosts, host) != hosts.end()) return;
  hosts.push_back(host);
  std::vector<std::string> order;
  for (const Candidate& listed : hosts) order.push_back(listed.host);
  sort_numeric_hosts(order);
  const auto key = [&order](const Candidate& listed) {
    return std::pair(std::ranges::find(order, listed.host) - order.begin(), listed.port);
  };
  std::ranges::sort(hosts, {}, key);
  since_[now] = std::move(hosts);
}

void ListedHosts::drop(TimePoint now, const Candidate& host) {
  auto hosts = at(now);
  std::erase(hosts, host);
  since_[now] = std::move(hosts);
}

std::vector<Candidate> ListedHosts::at(TimePoint when) const {
  const auto later = since_.upper_bound(when);
  return later == since_.begin() ? std::vector<Candidate>{} : std::prev(later)->second;
}

// So many come together when the others run, and are first in the list: with as many as may lead,
// none of these knows anything.
int World::draw_late(int nodes) {
  const bool some = list_dice_.unit() < 0.5;
  const int few = std::min(static_cast<int>(kLeadersOfHosts) + list_dice_.below(2), nodes - 1);
  return some && !features_.pairs ? few : 0;
}

// Anywhere among the others, so that who comes later may be first in the list. Two of one machine
// share it.
void World::draw_host(Node& drawn) {
  if (!features_.list_changes) return;
  const Node& first = node(features_.machine_of(drawn.place));
  if (features_.pairs && &first != &drawn) {
    drawn.host = first.host;
    return;
  }
  do {
    drawn.host = fmt::format("10.{}.{}.{}", drawn.late ? 0 : 1 + list_dice_.below(3),
                             list_dice_.below(256), 1 + list_dice_.below(254));
  } while (std::ranges::any_of(nodes_, [&drawn](const Node& other) {
    return &other != &drawn && other.host == drawn.host;
  }));
}

// Who takes its place elsewhere is not told apart from it by name: one of them is listed.
void World::list_host(int index) {
  if (!features_.list_changes) return;
  for (const Node& other : nodes_) {
    if (other.place == node(index).place && other.ghost) listed_.drop(now_, place_of(other));
  }
  listed_.put(now_, place_of(node(index)));
}

// Unless it is there again. One that has moved is listed where it is then.
void World::unlist_later(int index) {
  if (!features_.list_changes) return;
  const auto kept = [this, index, place = place_of(node(index))] {
    const Node& other = node(index);
    return other.up && !other.ghost && place_of(other) == place;
  };
  after(list_dice_.between(kSoonest, kLongest), -1, [this, kept, place = place_of(node(index))] {
    if (!kept()) listed_.drop(now_, place);
  });
}

// The newest: an address is given again only to a node that replaces another.
int World::who_has(const Candidate& place) {
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    if (place_of(node(i)) == place) return i;
  }
  return -1;
}

// By the list, and by that of every node that knows of the job: its leaders do not change.
bool World::listed_can_lead() {
  const auto is_here = [](const Node& other) { return other.up && !other.exited && !other.ghost; };
  const auto one_leads = [this, is_here](const std::vector<Candidate>& leaders) {
    return std::ranges::any_of(leaders, [this, is_here](const Candidate& place) {
      const int found = who_has(place);
      return found >= 0 && is_here(node(found));
    });
  };
  return one_leads(leaders_of(listed_.at(now_))) &&
         std::ranges::all_of(nodes_, [is_here, one_leads](const Node& other) {
           const bool knows = is_here(other) && other.member->knows_round();
           return !knows || one_leads(other.list.current);
         });
}

void World::begin_list(int index, MemberSetup& setup) {
  NodeList& list = node(index).list = {};
  setup.source = CandidateSource::kRead;
  list.all_until = now_ + std::min(options_.last_call, options_.join_timeout);
  list.awaits = !features_.list_is_file;
  if (list.awaits) {
    setup.candidates = {"dns:workers"};
    return;
  }
  read_list(index, [&list](std::vector<Candidate> hosts) { list.current = leaders_of(hosts); });
  if (list.current.empty()) list.current = leaders_of(listed_.at(now_));  // with this node
  setup.candidates = names_of(list.current);
  const auto own = std::ranges::find(list.current, place_of(node(index)));
  if (own != list.current.end()) list.own = static_cast<int>(own - list.current.begin());
  setup.self.candidate = list.own;
}

void World::dial_listed(int from, int candidate) {
  const NodeList& list = node(from).list;
  if (list.awaits) return refresh_list(from);
  const bool own = list.own == candidate;
  dial_place(from, candidate,
             own ? from : who_has(list.current.at(static_cast<size_t>(candidate))));
}

// Until it knows of a round, and while it follows no other node.
void World::seek(int index) {
  if (!features_.list_changes || node(index).exited) return;
  const Node& owner = node(index);
  NodeList& list = node(index).list;
  const bool alone = owner.member->state() == MemberState::kSeeking || owner.leader != nullptr;
  if (!alone || list.awaits || owner.member->knows_round()) {
    list.refresh = 0;
    return;
  }
  if (list.refresh != 0) return;
  const uint64_t number = list.refresh = next_number_;
  after(kListRefresh, index, [this, index, number] {
    if (node(index).list.refresh != number) return;
    node(index).list.refresh = 0;
    refresh_list(index);
  });
}

// A service is asked over the network; of two questions the later one counts.
void World::read_list(int index, std::function<void(std::vector<Candidate> hosts)> done) {
  const bool late = list_dice_.unit() < kReadsLate;
  auto hosts = listed_.at(late ? now_ - list_dice_.between(Duration(0), kLatest) : now_);
  if (features_.list_is_file) return done(std::move(hosts));
  const uint64_t number = node(index).list.lookup = next_number_;
  after(list_dice_.between(microseconds(100), kSlowestLookup), index,
        [this, index, number, hosts = std::move(hosts), done = std::move(done)] {
          NodeList& list = node(index).list;
          if (list.lookup != number) return;
          list.lookup = 0;
          done(hosts);
        });
}

void World::refresh_list(int index) {
  read_list(index, [this, index](std::vector<Candidate> hosts) {
    const NodeList& list = node(index).list;
    const int wanted = now_ < list.all_until ? options_.max_nodes : options_.min_nodes;
    const bool few = list.awaits && static_cast<int>(hosts.size()) < wanted;
    if (!few && !hosts.empty()) node(index).list.everyone = hosts;
    list_refreshed(index, few ? std::vector<Candidate>{} : leaders_of(std::move(hosts)));
  });
}

void World::list_refreshed(int index, std::vector<Candidate> hosts) {
  Node& owner = node(index);
  if (owner.exited) return;
  if (!hosts.empty()) {
    owner.list.read = std::move(hosts);
  } else if (owner.list.awaits) {
    owner.member->on_dial_failed(now_, 0, DialFailure::kNoName, "too few addresses");
  }
}

void World::take_leaders(int index, const std::string& leaders) {
  if (scenario_.bug == Bug::kKeepLeaders) return;
  auto list = parse_host_list(leaders, {});
  if (!list) return violate(fmt::format("{} is told of no leaders: {}", index, leaders));
  node(index).list.told = std::move(*list);
}

void World::use_new_list(int index) {
  Node& owner = node(index);
  NodeList& list = owner.list;
  if (!features_.list_changes) return;
  if (owner.member->knows_round()) list.read.clear();
  if (owner.member->leader() || owner.member->state() == MemberState::kExiting) return;
  const bool told = !list.told.empty();
  if (!told && owner.member->has_leader()) return;
  auto next = std::exchange(told ? list.told : list.read, {});
  if (told) list.read.clear();
  if (next.empty() || next == list.current) return;
  std::optional<int> own;
  const auto found = std::ranges::find(next, place_of(owner));
  if (found != next.end()) own = static_cast<int>(found - next.begin());
  const auto names = names_of(next);
  if (!owner.member->set_candidates(now_, names, own)) return;
  note(fmt::format("{} reads {}", index, join(names, " ")));
  list.current = std::move(next);
  list.own = own;
  list.awaits = false;
  owner.dials.clear();
  for (const auto& [candidate, link] : std::exchange(owner.candidate_links, {}))
    close_link(link, true);
}

void World::ask_everyone(int index, const leader_output::AskCandidates& question) {
  Node& owner = node(index);
  if (!features_.list_changes) return owner.member->on_asked(now_, question);
  if (question.all_here || scenario_.bug == Bug::kAskListedOnly)
    return ask_listed(index, {}, question);
  if (!features_.list_is_file) return ask_listed(index, owner.list.everyone, question);
  read_list(index, [this, index, question](const std::vector<Candidate>& hosts) {
    ask_listed(index, hosts, question);
  });
}

// Who was told of a round, and is none of those who may lead by this node's list: the silence of
// these counts.
std::set<uint64_t> World::knowing_beyond(int index, const std::vector<Candidate>& others) {
  const auto& leaders = node(index).list.current;
  std::set<uint64_t> knowing;
  for (const Candidate& place : others) {
    const int found = who_has(place);
    const bool leads = std::ranges::find(leaders, place) != leaders.end();
    if (found >= 0 && node(found).up && node(found).knows && !leads)
      knowing.insert(node(found).incarnation);
  }
  return knowing;
}

// Those of `hosts` that have not come, and then, unless one leads or follows elsewhere, those who
// may lead.
void World::ask_listed(int index, const std::vector<Candidate>& hosts,
                       const leader_output::AskCandidates& question) {
  if (!node(index).leader) return;
  const auto joined = node(index).leader->nodes();
  const std::vector<bool> here = find_joined(hosts, joined);
  std::vector<Candidate> others;
  for (size_t i = 0; i < hosts.size(); ++i)
    if (!here[i]) others.push_back(hosts[i]);
  node(index).list.unheard = knowing_beyond(index, others);
  ask_agents(index, others, joined, [this, index, question](const Heard& heard) {
    if (!heard.leader && heard.remembers) return;  // it is asked again in a lease
    if (!heard.leader) return node(index).member->on_asked(now_, question);
    node(index).list.told = {*heard.leader};
    if (node(index).leader) node(index).leader->on_candidates(now_, {question.number, false, true});
  });
}

// Until one of them knows of a leader that is none of `joined`. A further question cancels.
void World::ask_agents(int from, const std::vector<Candidate>& agents,
                       std::vector<RosterEntry> joined, Guided done) {
  const uint64_t number = node(from).list.question = next_number_;
  const auto all = std::make_shared<Heard>();
  const auto finish = [this, from, number, all, done = std::move(done)] {
    NodeList& list = node(from).list;
    if (list.question != number) return;
    list.question = 0;
    done(*all);
  };
  after(agents.empty() ? microseconds(1) : kGuideDeadline, from, finish);
  const auto open = std::make_shared<size_t>(agents.size());
  for (const Candidate& agent : agents) {
    ask_agent(from, agent, [finish, all, open, joined](const Heard& heard) {
      --*open;
      const bool leads_others =
          heard.leader && std::ranges::none_of(joined, [&heard](const RosterEntry& node) {
            return node.host == heard.leader->host && node.port == heard.leader->port;
          });
      if (leads_others) all->leader = heard.leader;
      all->remembers = all->remembers || heard.remembers;
      if (leads_others || *open == 0) finish();
    });
  }
}

// Without an answer the deadline counts. A frozen agent answers when it wakes.
void World::ask_agent(int from, const Candidate& agent, Guided answered) {
  const int to = who_has(agent);
  if (to < 0 || node(to).host_down || !reachable(from, to)) return;
  if (!node(to).up) return after(delay(from, to), from, [answered] { answered({}); });
  after(delay(from, to), to, [this, from, to, agent, answered] {
    const Node& asked = node(to);
    Heard heard;
    std::optional<Candidate>& leader = heard.leader;
    if (asked.leader) leader = agent;
    const auto followed = asked.member->leader();
    const auto link = asked.candidate_links.find(followed.value_or(-1));
    if (!leader && link != asked.candidate_links.end())
      leader = place_of(node(links_.at(link->second).to));
    heard.remembers = !leader && asked.member->knows_round();
    if (!reachable(from, to)) return;
    after(delay(from, to), from, [this, from, who = asked.incarnation, answered, heard] {
      NodeList& list = node(from).list;
      if (list.question != 0) list.unheard.erase(who);
      answered(heard);
    });
  });
}

}  // namespace muster::simulation
