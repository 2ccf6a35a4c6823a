#include "tests/simulation/simulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <variant>

#include "base/check.h"
#include "elastic/round_policy.h"
#include "rendezvous/electorate.h"
#include "rendezvous/leader.h"
#include "rendezvous/member.h"

namespace muster::simulation {

namespace {

using namespace std::chrono_literals;
using namespace rendezvous;

constexpr size_t kEventsKept = 60;
constexpr Duration kFaultsUntil = 240s;
constexpr Duration kEndWithin = 400s;  // after the last fault
constexpr Duration kDialDeadline = 3s;
constexpr uint64_t kCodecEvery = 8;  // messages that also go through the frames

std::string place_name(int place) { return fmt::format("worker-{}", place); }

enum class WorkerState { kNone, kPreparing, kStarting, kRunning, kEnding };

// The local group of one node.
struct Workers {
  WorkerState state = WorkerState::kNone;
  Assign assign;
  uint64_t serial = 0;  // tells timers of an earlier group from this one's
  bool alive = false;   // some process runs
};

struct Node {
  int place = 0;
  std::string host;
  uint64_t incarnation = 0;
  bool up = false;         // the agent's process lives
  bool host_down = false;  // no machine: nothing answers, not even a refusal
  bool exited = false;     // the agent ended by itself
  TimePoint frozen_until{};
  TimePoint slow_until{};
  int side = 0;  // of the network
  JobOptions options;
  std::unique_ptr<Member> member;
  std::unique_ptr<elastic::RoundPolicy> policy;
  std::unique_ptr<Leader> leader;
  Workers workers;
  bool knows = false;                        // was told of a round
  std::map<int, uint64_t> candidate_links;   // candidate -> link
  std::deque<std::function<void()>> asleep;  // events that wait for the thaw
  TimePoint tick_at = TimePoint::max();
};

struct Link {
  int from = 0;
  int to = 0;
  uint64_t from_incarnation = 0;
  uint64_t to_incarnation = 0;
  int candidate = 0;
  bool from_open = true;
  bool to_open = true;
  TimePoint last_to{};  // in order per direction
  TimePoint last_from{};
};

class World {
 public:
  explicit World(const Scenario& scenario);
  Outcome run();

 private:
  // --- time
  struct Event {
    TimePoint at;
    uint64_t number;
    int node;  // -1 = the world's own
    uint64_t incarnation;
    std::function<void()> what;
    bool operator>(const Event& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };
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

  // --- nodes
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
  void send(uint64_t link, bool to_leader, Message message);
  void close_link(uint64_t link, bool by_from);
  void break_links(int node);
  void confirm_dial(int from, DialId dial, const std::string& host);

  // --- workers
  void prepare(int node, const Assign& assign);
  void start(int node, const Assign& assign);
  void stop(int node, uint64_t round, Duration grace);
  void kill(int node, uint64_t round, const std::string& reason);
  void gone(int node);
  void fail_worker(int node);
  void later_for_group(int node, Duration delay, std::function<void()> what);

  // --- faults and checks
  void plan_faults();
  void fault();
  void check();
  void check_round(const std::vector<int>& alive);
  void check_running_round(const std::vector<int>& alive);
  void violate(const std::string& what);
  bool over();
  void forget_if_nobody_knows(int fresh);

  Scenario scenario_;
  std::mt19937_64 random_;
  TimePoint now_{};
  TimePoint begin_{};
  uint64_t next_number_ = 1;
  uint64_t next_incarnation_ = 100;
  uint64_t next_link_ = 1;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  std::map<uint64_t, Link> links_;
  std::deque<std::string> trace_;
  JobOptions options_;
  elastic::RoundPolicyOptions policy_options_;
  int candidates_ = 1;
  Duration work_{};
  bool started_once_ = false;  // partitions begin after the first round (see plan_faults)

  std::string violation_;
  std::string end_;
  bool success_ = false;
  int rounds_ = 0;
  int leaders_ = 0;
  RoundKey newest_running_{};
  int charged_ = 0;
  std::map<uint64_t, int> ranks_;  // of the newest running round, by incarnation
};

World::World(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed) {
  now_ = begin_ = TimePoint(1000s);
  options_.run_id = "simulated";
  options_.max_nodes = 2 + below(5);
  options_.min_nodes = std::max(1, options_.max_nodes - below(options_.max_nodes));
  if (unit() < 0.2) options_.nodes_step = 2;
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
  plan_faults();
}

void World::note(const std::string& text) {
  trace_.push_back(fmt::format("{:9.3f} {}", to_seconds(now_ - begin_), text));
  if (trace_.size() > kEventsKept) trace_.pop_front();
}

void World::violate(const std::string& what) {
  if (!violation_.empty()) return;
  note("VIOLATION " + what);
  violation_ = what;
}

void World::at(TimePoint when, int index, std::function<void()> what) {
  const uint64_t incarnation = index < 0 ? 0 : node(index).incarnation;
  events_.push({when, next_number_++, index, incarnation, std::move(what)});
}

// Events of a process that ended are dropped, those of a frozen one wait.
void World::deliver(Event event) {
  if (event.node < 0) return event.what();
  Node& owner = node(event.node);
  if (!owner.up || owner.incarnation != event.incarnation) return;
  if (owner.frozen_until > now_) {
    owner.asleep.push_back(std::move(event.what));
    return;
  }
  event.what();
  pump(event.node);
}

void World::boot(int index) {
  Node& booted = node(index);
  if (booted.up) return;
  booted.up = true;
  booted.exited = false;
  booted.host_down = false;
  booted.incarnation = next_incarnation_++;
  booted.candidate_links.clear();
  booted.asleep.clear();
  booted.workers = Workers{};
  booted.knows = false;
  booted.options = options_;
  MemberSetup setup;
  setup.self.identity = {place_name(booted.place), booted.place, booted.incarnation};
  setup.self.host = booted.host;
  setup.self.port = 29400;
  setup.self.local_world_size = 1 + booted.place % 3;
  setup.self.role = "trainer";
  if (index < candidates_) setup.self.candidate = index;
  for (int i = 0; i < candidates_; ++i) setup.candidates.push_back(place_name(i));
  setup.jitter = unit();
  note(fmt::format("boot {} as {}", index, booted.incarnation));
  booted.member = std::make_unique<Member>(now_, booted.options, std::move(setup));
  pump(index);
}

// The guardian ends the workers with their agent; the kernel resets the connections unless the
// whole machine went.
void World::kill_agent(int index, bool host_too) {
  Node& victim = node(index);
  if (!victim.up) return;
  note(fmt::format("{} {}", host_too ? "host down" : "agent killed", index));
  victim.up = false;
  victim.host_down = host_too;
  victim.workers = Workers{};
  victim.frozen_until = now_;
  if (!host_too) break_links(index);
  victim.leader.reset();
  victim.policy.reset();
  victim.member.reset();
}

void World::freeze(int index, Duration length) {
  Node& frozen = node(index);
  if (!frozen.up || frozen.frozen_until > now_) return;
  note(fmt::format("freeze {} for {:.1f} s", index, to_seconds(length)));
  frozen.frozen_until = now_ + length;
  const uint64_t incarnation = frozen.incarnation;
  at(frozen.frozen_until, -1, [this, index, incarnation] {
    Node& thawed = node(index);
    if (!thawed.up || thawed.incarnation != incarnation || thawed.frozen_until > now_) return;
    note(fmt::format("thaw {}", index));
    // Whatever comes first, the lease is looked at before it.
    auto waiting = std::exchange(thawed.asleep, {});
    if (waiting.empty()) thawed.member->on_tick(now_);
    for (auto& what : waiting) {
      if (!node(index).up || node(index).incarnation != incarnation) return;
      what();
      pump(index);
    }
    pump(index);
  });
}

void World::pump(int index) {
  // Leader and member of one node talk to each other without delay in between.
  for (int turn = 0; turn < 8; ++turn) {
    pump_leader(index);
    pump_member(index);
  }
  Node& owner = node(index);
  if (!owner.up) return;
  std::optional<TimePoint> next = owner.member->next_deadline();
  if (owner.leader) {
    const auto other = owner.leader->next_deadline();
    if (other && (!next || *other < *next)) next = other;
  }
  if (!next || (*next >= owner.tick_at && owner.tick_at > now_)) return;
  owner.tick_at = std::max(*next, now_ + 1ms);
  at(owner.tick_at, index, [this, index] {
    Node& ticked = node(index);
    ticked.tick_at = TimePoint::max();
    ticked.member->on_tick(now_);
  });
}

void World::pump_member(int index) {
  Node& owner = node(index);
  if (!owner.up) return;
  for (MemberOutput& output : owner.member->take_outputs()) {
    if (!node(index).up) return;
    if (auto* dialled = std::get_if<member_output::Dial>(&output)) {
      dial(index, dialled->candidate);
    } else if (auto* closed = std::get_if<member_output::CloseLink>(&output)) {
      const auto link = owner.candidate_links.find(closed->candidate);
      if (link != owner.candidate_links.end()) close_link(link->second, true);
    } else if (auto* sent = std::get_if<member_output::Send>(&output)) {
      const auto link = owner.candidate_links.find(sent->candidate);
      if (link != owner.candidate_links.end()) send(link->second, true, std::move(sent->message));
    } else if (auto* lead = std::get_if<member_output::BecomeLeader>(&output)) {
      if (scenario_.bug == Bug::kNoMajority) {
        lead->seed.last_round.reset();
        lead->seed.confirmed_round.reset();
      }
      if (scenario_.bug == Bug::kForgetBudget) lead->seed.budget = {};
      ++leaders_;
      if (!lead->seed.last_round) forget_if_nobody_knows(index);
      note(fmt::format("{} leads, term {}", index, lead->seed.term));
      owner.leader.reset();
      owner.policy = std::make_unique<elastic::RoundPolicy>(policy_options_, random_());
      owner.leader =
          std::make_unique<Leader>(now_, owner.options, *owner.policy, std::move(lead->seed));
    } else if (std::holds_alternative<member_output::StopLeading>(output)) {
      close_leader(index);
    } else if (auto* prepared = std::get_if<member_output::PrepareRound>(&output)) {
      prepare(index, prepared->assign);
    } else if (auto* started = std::get_if<member_output::StartWorkers>(&output)) {
      start(index, started->assign);
    } else if (auto* stopped = std::get_if<member_output::StopWorkers>(&output)) {
      stop(index, stopped->round, stopped->grace);
    } else if (auto* killed = std::get_if<member_output::KillWorkers>(&output)) {
      kill(index, killed->round, killed->reason);
    } else if (auto* exit = std::get_if<member_output::Exit>(&output)) {
      note(fmt::format("{} exits {}: {}", index, exit->outcome.exit_code, exit->outcome.reason));
      end_ = exit->outcome.reason;
      success_ = success_ || exit->outcome.success;
      if (owner.workers.alive) violate(fmt::format("{} exits with workers alive", index));
      // The process stays while its leader has something to say.
      owner.exited = true;
    } else if (auto* logged = std::get_if<member_output::Log>(&output)) {
      note(fmt::format("  {} member {}: {}", index, logged->event, logged->reason));
    }
  }
  Node& after = node(index);
  if (after.up && after.exited && !after.leader) kill_agent(index, false);
}

void World::pump_leader(int index) {
  Node& owner = node(index);
  if (!owner.up || !owner.leader) return;
  for (LeaderOutput& output : owner.leader->take_outputs(now_)) {
    if (auto* sent = std::get_if<leader_output::Send>(&output)) {
      send(sent->link, false, std::move(sent->message));
    } else if (auto* closed = std::get_if<leader_output::CloseLink>(&output)) {
      close_link(closed->link, false);
    } else if (auto* dialled = std::get_if<leader_output::Dial>(&output)) {
      confirm_dial(index, dialled->dial, dialled->host);
    } else if (auto* logged = std::get_if<leader_output::Log>(&output)) {
      note(fmt::format("  {} leader {}: {}", index, logged->event, logged->reason));
    } else if (auto* down = std::get_if<leader_output::StepDown>(&output)) {
      note(fmt::format("{} steps down: {}", index, down->reason));
      return close_leader(index);
    } else if (std::holds_alternative<leader_output::Finished>(output)) {
      // Members hang up when they end; what was sent to them arrives.
      return close_leader(index);
    }
  }
}

void World::close_leader(int index) {
  node(index).leader.reset();
  for (auto& [id, link] : links_) {
    const bool ours = link.to == index && link.to_incarnation == node(index).incarnation;
    if (ours && link.to_open) close_link(id, false);
  }
}

Duration World::delay(int a, int b) {
  if (a == b) return Duration(1us);
  const bool slow = node(a).slow_until > now_ || node(b).slow_until > now_;
  return slow ? between(100ms, 1500ms) : between(100us, unit() < 0.02 ? 300ms : 5ms);
}

void World::dial(int from, int candidate) {
  const int to = candidate;
  const auto fail = [this, from, candidate](Duration delay, DialFailure failure) {
    after(delay, from, [this, from, candidate, failure] {
      node(from).member->on_dial_failed(now_, candidate, failure, "no");
    });
  };
  if (!reachable(from, to) || node(to).host_down)
    return fail(kDialDeadline, DialFailure::kNoAnswer);
  if (node(to).incarnation == 0) return fail(1ms, DialFailure::kNoName);
  if (!node(to).up) return fail(delay(from, to), DialFailure::kRefused);
  if (from == to && !node(to).leader) return fail(1ms, DialFailure::kRefused);
  const uint64_t id = next_link_++;
  Link link;
  link.from = from;
  link.to = to;
  link.from_incarnation = node(from).incarnation;
  link.to_incarnation = node(to).incarnation;
  link.candidate = candidate;
  links_[id] = link;
  node(from).candidate_links[candidate] = id;
  after(delay(from, to), from,
        [this, from, candidate] { node(from).member->on_connected(now_, candidate); });
}

// Held back while the network is split, as TCP does; lost when the link ends before.
void World::send(uint64_t id, bool to_leader, Message message) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (to_leader ? !link.from_open : !link.to_open) return;
  if (auto* join = std::get_if<Join>(&message)) {
    if (scenario_.bug == Bug::kNoMajority) {
      join->last_round.reset();
      join->confirmed_round.reset();
    }
    if (scenario_.bug == Bug::kForgetBudget) join->budget = {};
  }
  if (next_number_ % kCodecEvery == 0) {
    const std::string frame = encode(message);
    auto decoded = decode(frame);
    if (!decoded || decoded->consumed != frame.size()) {
      return violate(fmt::format("'{}' does not survive its frame: {}", name_of(message),
                                 decoded ? "cut" : decoded.error().text));
    }
    message = std::move(*decoded->message);
  }
  const int source = to_leader ? link.from : link.to;
  const int target = to_leader ? link.to : link.from;
  TimePoint& last = to_leader ? link.last_to : link.last_from;
  last = std::max(last + 1us, now_ + delay(source, target));
  const uint64_t incarnation = to_leader ? link.to_incarnation : link.from_incarnation;
  // By value: the world's own event, because the target may be another incarnation by then.
  auto arrive = std::make_shared<std::function<void()>>();
  std::weak_ptr<std::function<void()>> again = arrive;
  *arrive = [this, id, to_leader, source, target, incarnation, message = std::move(message),
             again] {
    const auto current = links_.find(id);
    if (current == links_.end()) return;
    if (!reachable(source, target)) {
      if (auto self = again.lock()) after(200ms, -1, [self] { (*self)(); });
      return;
    }
    if (!node(target).up || node(target).incarnation != incarnation) return;
    const auto apply = [this, id, to_leader, target, message] {
      const auto open = links_.find(id);
      if (open == links_.end()) return;
      if (to_leader) {
        if (!open->second.to_open) return;
        if (node(target).leader) return node(target).leader->on_message(now_, id, message);
        if (const auto* hello = std::get_if<Hello>(&message)) {
          send(id, false, node(target).member->answer(*hello));
        }
      } else if (open->second.from_open) {
        const auto* waiting = std::get_if<Waiting>(&message);
        const bool tells =
            std::holds_alternative<Assign>(message) || (waiting != nullptr && waiting->round > 0);
        node(target).knows = node(target).knows || tells;
        node(target).member->on_message(now_, open->second.candidate, message);
      }
    };
    deliver({now_, next_number_++, target, incarnation, apply});
  };
  at(last, -1, [arrive] { (*arrive)(); });
}

// One end closes; the other learns it when the network lets it.
void World::close_link(uint64_t id, bool by_from) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  (by_from ? link.from_open : link.to_open) = false;
  if (by_from) {
    const auto own = node(link.from).candidate_links.find(link.candidate);
    if (own != node(link.from).candidate_links.end() && own->second == id) {
      node(link.from).candidate_links.erase(own);
    }
  }
  const int source = by_from ? link.from : link.to;
  const int target = by_from ? link.to : link.from;
  const uint64_t incarnation = by_from ? link.to_incarnation : link.from_incarnation;
  TimePoint& last = by_from ? link.last_to : link.last_from;
  last = std::max(last + 1us, now_ + delay(source, target));
  auto arrive = std::make_shared<std::function<void()>>();
  std::weak_ptr<std::function<void()>> again = arrive;
  *arrive = [this, id, by_from, source, target, incarnation, again] {
    const auto current = links_.find(id);
    if (current == links_.end()) return;
    if (!reachable(source, target)) {
      if (auto self = again.lock()) after(200ms, -1, [self] { (*self)(); });
      return;
    }
    const auto apply = [this, id, by_from, target] {
      const auto open = links_.find(id);
      if (open == links_.end()) return;
      const Link gone = open->second;
      links_.erase(open);
      if (by_from) {
        if (gone.to_open && node(target).leader) node(target).leader->on_link_closed(now_, id);
      } else if (gone.from_open) {
        auto& own = node(target).candidate_links;
        if (own.contains(gone.candidate) && own[gone.candidate] == id) own.erase(gone.candidate);
        node(target).member->on_link_closed(now_, gone.candidate);
      }
    };
    if (!node(target).up || node(target).incarnation != incarnation) return;
    deliver({now_, next_number_++, target, incarnation, apply});
  };
  at(last, -1, [arrive] { (*arrive)(); });
}

void World::break_links(int index) {
  const uint64_t incarnation = node(index).incarnation;
  for (auto& [id, link] : links_) {
    if (link.from == index && link.from_incarnation == incarnation && link.from_open) {
      close_link(id, true);
    }
    if (link.to == index && link.to_incarnation == incarnation && link.to_open) {
      close_link(id, false);
    }
  }
}

void World::confirm_dial(int from, DialId dial, const std::string& host) {
  for (int to = 0; to < static_cast<int>(nodes_.size()); ++to) {
    if (node(to).host != host) continue;
    const bool answers = reachable(from, to) && !node(to).host_down;
    const DialResult result = !answers      ? DialResult::kNoAnswer
                              : node(to).up ? DialResult::kConnected
                                            : DialResult::kRefused;
    return after(answers ? delay(from, to) : kDialDeadline, from, [this, from, dial, result] {
      if (node(from).leader) node(from).leader->on_dialed(now_, dial, result);
    });
  }
  // The machine was replaced by one with another address.
  after(kDialDeadline, from, [this, from, dial] {
    if (node(from).leader) node(from).leader->on_dialed(now_, dial, DialResult::kNoAnswer);
  });
}

void World::later_for_group(int index, Duration delay, std::function<void()> what) {
  const uint64_t serial = node(index).workers.serial;
  after(delay, index, [this, index, serial, what = std::move(what)] {
    if (node(index).workers.serial == serial) what();
  });
}

void World::prepare(int index, const Assign& assign) {
  Workers& workers = node(index).workers;
  if (workers.alive) violate(fmt::format("{} prepares a round with workers alive", index));
  workers = Workers{WorkerState::kPreparing, assign, workers.serial + 1, false};
  const uint64_t round = assign.round;
  later_for_group(index, between(0s, 20ms),
                  [this, index, round] { node(index).member->on_prepared(now_, round); });
}

void World::start(int index, const Assign& assign) {
  Workers& workers = node(index).workers;
  workers.state = WorkerState::kStarting;
  workers.alive = true;
  note(fmt::format("{} starts rank {}/{} of round {} term {}", index, assign.node_rank,
                   assign.node_count, assign.round, assign.term));
  const uint64_t round = assign.round;
  later_for_group(index, between(1ms, 200ms), [this, index, round] {
    if (node(index).workers.state != WorkerState::kStarting) return;
    node(index).workers.state = WorkerState::kRunning;
    node(index).member->on_started(now_, round);
    later_for_group(index, work_ + between(0s, 1s), [this, index, round] {
      Workers& done = node(index).workers;
      if (done.state != WorkerState::kRunning) return;
      done.alive = false;
      done.state = WorkerState::kNone;
      ++done.serial;
      node(index).member->on_succeeded(now_, round);
    });
  });
}

void World::stop(int index, uint64_t round, Duration grace) {
  Workers& workers = node(index).workers;
  if (workers.assign.round != round) return;
  workers.state = WorkerState::kEnding;
  ++workers.serial;
  if (scenario_.bug == Bug::kLateStop) {
    const uint64_t incarnation = node(index).incarnation;
    after(1ms, index, [this, index, round] { node(index).member->on_gone(now_, round); });
    after(between(0s, grace), -1, [this, index, incarnation, round] {
      Node& late = node(index);
      if (late.incarnation == incarnation && late.workers.assign.round == round) {
        late.workers.alive = false;
      }
    });
    return;
  }
  // Workers take their time, the agent kills them at the end of the grace period.
  later_for_group(index, std::min(grace, between(0s, 15s)) + 1ms, [this, index] { gone(index); });
}

void World::kill(int index, uint64_t round, const std::string& reason) {
  Workers& workers = node(index).workers;
  if (workers.assign.round != round) return;
  note(fmt::format("{} kills its workers: {}", index, reason));
  if (scenario_.bug == Bug::kNoFence) return;
  workers.state = WorkerState::kEnding;
  workers.alive = false;
  ++workers.serial;
  later_for_group(index, between(1ms, 50ms), [this, index] { gone(index); });
}

void World::gone(int index) {
  Workers& workers = node(index).workers;
  workers.alive = false;
  workers.state = WorkerState::kNone;
  ++workers.serial;
  node(index).member->on_gone(now_, workers.assign.round);
}

void World::fail_worker(int index) {
  Node& owner = node(index);
  const bool running =
      owner.workers.state == WorkerState::kStarting || owner.workers.state == WorkerState::kRunning;
  if (!running) return;
  const int local_size = 1 + owner.place % 3;
  Failure failure;
  failure.local_rank = below(local_size);
  failure.rank = owner.workers.assign.rank_offset + failure.local_rank;
  failure.node = place_name(owner.place);
  failure.exit_code = 1 + below(3);
  failure.failure_class = "user error";
  failure.reason = "exit code";
  note(fmt::format("worker of {} fails, round {}", index, owner.workers.assign.round));
  owner.workers.state = WorkerState::kEnding;
  ++owner.workers.serial;
  owner.member->on_failed(now_, owner.workers.assign.round, {failure});
  if (node(index).up) later_for_group(index, between(1ms, 500ms), [this, index] { gone(index); });
}

void World::plan_faults() {
  const int faults = below(14);
  for (int i = 0; i < faults; ++i) at(begin_ + between(3s, kFaultsUntil), -1, [this] { fault(); });
  at(begin_ + kFaultsUntil + 1s, -1, [this] {
    note("no more faults");
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
  switch (below(9)) {
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
      return after(between(1s, 60s), -1, [this] {
        note("healed");
        for (Node& other : nodes_) other.side = 0;
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
    if (other.up && other.workers.alive && other.frozen_until <= now_) alive.push_back(i);
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
    if (!size_allowed(options_, assign.node_count)) {
      return violate(fmt::format("round of {} nodes, allowed {}..{} step {}", assign.node_count,
                                 options_.min_nodes, options_.max_nodes, options_.nodes_step));
    }
    if (assign.budget.restarts_used > policy_options_.restarts.max_restarts) {
      return violate("budget exceeded");
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
  newest_running_ = key;
  started_once_ = true;
  ++rounds_;
  if (first.budget.restarts_charged < charged_) {
    violate(fmt::format("budget lost: {} restarts were charged, now {}", charged_,
                        first.budget.restarts_charged));
  }
  charged_ = first.budget.restarts_charged;
  std::map<uint64_t, int> ranks;
  for (const int i : alive) ranks[node(i).incarnation] = node(i).workers.assign.node_rank;
  const bool same = ranks.size() == ranks_.size() &&
                    std::equal(ranks.begin(), ranks.end(), ranks_.begin(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same && ranks != ranks_) violate("same members, other ranks");
  ranks_ = std::move(ranks);
}

// The job's memory is in its agents. Where none is left that could tell a fresh leader, a new job
// begins, as far as anybody can know.
void World::forget_if_nobody_knows(int fresh) {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& other = node(i);
    if (other.up && other.knows && other.frozen_until <= now_ && reachable(fresh, i)) return;
  }
  newest_running_ = {};
  charged_ = 0;
  ranks_.clear();
}

bool World::over() {
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

}  // namespace

Outcome simulate(const Scenario& scenario) { return World(scenario).run(); }

}  // namespace muster::simulation
