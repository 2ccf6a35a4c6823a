// The simulator's time and nodes: booting, dying, freezing, and carrying out what leader and member
// say.
#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "rendezvous/agreement/events.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr size_t kEventsKept = 120;

// The mistakes of who begins to lead.
void spoil(Bug bug, TimePoint now, LeaderSeed& seed) {
  if (bug == Bug::kNoMajority || bug == Bug::kNoSafeWait) {
    seed.last_round.reset();
    seed.confirmed_round.reset();
  }
  if (bug == Bug::kForgetBudget) seed.budget = {};
  if (bug == Bug::kForgetAsked) seed.size.reset();
  if (bug == Bug::kForgetAges) seed.budget.restart_ages_ms.clear();
  if (bug == Bug::kSecondLauncher) seed.uncertain = false;
  if (bug == Bug::kArrivalRanks) {
    seed.confirmed_round.reset();
    if (seed.last_round) seed.last_round->roster.clear();
  }
  if (bug == Bug::kNoSafeWait) seed.elected_safe_at = now;
}

}  // namespace

void World::note(const std::string& text) {
  trace_.push_back(fmt::format("{:9.3f} {}", to_seconds(now_ - begin_), text));
  if (trace_.size() > kEventsKept) trace_.pop_front();
}

void World::violate(const std::string& what) {
  if (!outcome_.violation.empty()) return;
  note("VIOLATION " + what);
  outcome_.violation = what;
}

void World::at(TimePoint when, int index, std::function<void()> what) {
  const uint64_t incarnation = index < 0 ? 0 : node(index).incarnation;
  events_.push({when, next_number_++, incarnation, index, std::move(what)});
}

void World::after(Duration delay, int index, std::function<void()> what) {
  at(now_ + delay, index, std::move(what));
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
  booted.exited = booted.told_to_end = false;
  if (booted.fell_with_host && features_.moves)
    booted.host = fmt::format("10.1.0.{}", next_incarnation_);
  if (booted.fell_with_host && features_.moves) draw_host(booted);
  booted.fell_with_host = false;
  list_host(index);
  for (const int mate : mates(index)) node(mate).host_down = false;
  booted.incarnation = next_incarnation_++;
  booted.candidate_links.clear();
  booted.dials.clear();
  booted.asleep.clear();
  booted.tick_at = TimePoint::max();  // what its predecessor waited for is dropped
  booted.workers = Workers{};
  booted.knows = false;
  booted.lived.reset();
  booted.target = target_.nodes;
  booted.told = {};
  booted.acks.clear();
  last_boot_ = now_;
  booted.options = options_;
  if (scenario_.bug == Bug::kAnySize) {
    booted.options.min_nodes = booted.options.nodes_step = 1;
    booted.options.allowed_nodes.clear();
  }
  if (scenario_.bug == Bug::kWaitForever) booted.options.join_timeout = 1000s;
  note(fmt::format("boot {} as {}", index, booted.incarnation));
  booted.member = std::make_unique<Member>(now_, booted.options, member_setup(index));
  pump(index);
}

MemberSetup World::member_setup(int index) {
  Node& booted = node(index);
  MemberSetup setup;
  setup.self.identity = {booted.name, {}, booted.incarnation};
  const int place = booted.place;
  if (features_.numbered.at(static_cast<size_t>(place))) setup.self.identity.index = place;
  setup.self.host = booted.host;
  setup.self.port = booted.port;
  setup.self.local_world_size = booted.workers_in_all;
  setup.self.role = "trainer";
  if (options_.rule.has_appointed() && place == 0) setup.self.node_rank = 0;
  // Who is there beyond them stands in for one of them.
  if (options_.known_nodes) setup.self.node_rank = place % options_.max_nodes;
  if (scenario_.etcd) {
    ++booted.etcd_epoch;
    booted.election = std::make_unique<EtcdElection>(etcd_times(options_.lease));
    booted.election->set_self(booted.as_leader());
    setup.candidates = {"elected"};
    setup.source = CandidateSource::kElected;
  } else if (features_.list_changes) {
    begin_list(index, setup);
  } else {
    if (place < candidates_) setup.self.candidate = place;
    for (int i = 0; i < candidates_; ++i)
      setup.candidates.push_back(fmt::format("{}:{}", node(i).host, node(i).port));
  }
  setup.jitter = dice_.unit();
  return setup;
}

// The guardian ends the workers with their agent; the kernel resets the connections unless the
// whole machine went.
void World::kill_agent(int index, bool host_too) {
  Node& victim = node(index);
  if (!victim.up) return;
  note(fmt::format("{} {}", host_too ? "host down" : "agent killed", index));
  trouble(0s);
  disturbed_ = now_;
  victim.up = false;
  victim.host_down = victim.fell_with_host = host_too;
  victim.workers = Workers{};
  victim.frozen_until = now_;
  if (!host_too) break_links(index);
  if (host_too || victim.exited) unlist_later(index);
  victim.leader.reset();
  victim.election.reset();
  victim.policy.reset();
  victim.member.reset();
}

// Its machine is cut off, and replaced by one with another address, whose index is returned. When
// the cut is over what it had to say arrives, and then it is ended.
int World::haunt(int index) {
  note(fmt::format("{} is cut off for good", index));
  trouble(0s);
  nodes_.emplace_back();  // there is room: nobody's place in memory changes
  Node& ghost = node(index);
  Node& next = nodes_.back();
  next.place = ghost.place;
  next.name = ghost.name;
  next.port = ghost.port;
  next.workers_in_all = ghost.workers_in_all;
  next.host = fmt::format("10.2.0.{}", nodes_.size());
  draw_host(next);
  unlist_later(index);
  next.calm_since = ghost.calm_since;
  ghost.ghost = true;
  ghost.side = static_cast<int>(nodes_.size()) + 1;
  after(dice_.between(2s, 120s), -1, [this, index] {
    note(fmt::format("{} is reached again", index));
    disturbed_ = now_;
    node(index).side = 0;
    after(dice_.between(0s, 20s), -1, [this, index] { kill_agent(index, false); });
  });
  return static_cast<int>(nodes_.size()) - 1;
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
    disturbed_ = now_;
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
    check_office(index);
    pump_leader(index);
    pump_election(index);
    pump_member(index);
  }
  Node& owner = node(index);
  if (!owner.up) return;
  seek(index);
  std::optional<TimePoint> next = owner.member->next_deadline();
  if (owner.leader) {
    const auto other = owner.leader->next_deadline();
    if (other && (!next || *other < *next)) next = other;
  }
  if (owner.election) {
    const auto other = owner.election->next_deadline();
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
  use_new_list(index);
  for (MemberOutput& output : owner.member->take_outputs()) {
    if (!node(index).up) return;
    if (auto* dialled = std::get_if<member_output::Dial>(&output)) {
      dial(index, dialled->candidate);
    } else if (const auto* call = std::get_if<NodeDial>(&output)) {
      confirm_dial(index, *call, /*by_leader=*/false);
    } else if (auto* closed = std::get_if<member_output::CloseLink>(&output)) {
      owner.dials.erase(closed->candidate);
      const auto link = owner.candidate_links.find(closed->candidate);
      if (link != owner.candidate_links.end()) close_link(link->second, true);
    } else if (auto* sent = std::get_if<member_output::Send>(&output)) {
      const auto link = owner.candidate_links.find(sent->candidate);
      if (link != owner.candidate_links.end()) send(link->second, true, std::move(sent->message));
    } else if (const auto* others = std::get_if<member_output::TakeLeaders>(&output)) {
      take_leaders(index, others->leaders);
    } else if (auto* lead = std::get_if<member_output::BecomeLeader>(&output)) {
      lead_anew(index, std::move(lead->seed));
    } else if (auto* told = std::get_if<member_output::TellLeader>(&output)) {
      if (scenario_.bug == Bug::kSecondLauncher) told->answers.silent = false;
      if (owner.leader) owner.leader->on_candidates(now_, told->answers);
    } else if (std::holds_alternative<member_output::StopLeading>(output)) {
      close_leader(index);
    } else if (auto* prepared = std::get_if<member_output::PrepareRound>(&output)) {
      prepare(index, prepared->assign);
    } else if (auto* started = std::get_if<member_output::StartWorkers>(&output)) {
      start(index, started->assign);
    } else if (auto* stopped = std::get_if<member_output::StopWorkers>(&output)) {
      stop(index, stopped->round, stopped->grace);
    } else if (auto* noticed = std::get_if<member_output::NotifyWorkers>(&output)) {
      save(index, *noticed);
    } else if (auto* killed = std::get_if<member_output::KillWorkers>(&output)) {
      kill(index, killed->round, killed->reason);
    } else if (auto* answered = std::get_if<member_output::ExchangeDone>(&output)) {
      take(index, *answered);
    } else if (auto* alone = std::get_if<member_output::RestartAlone>(&output)) {
      start_alone(index, *alone);
    } else if (auto* exit = std::get_if<member_output::Exit>(&output)) {
      note(fmt::format("{} exits {}: {}", index, exit->outcome.exit_code, exit->outcome.reason));
      digest_.add(static_cast<uint64_t>(exit->outcome.exit_code));
      outcome_.end = exit->outcome.reason;
      outcome_.success = outcome_.success || exit->outcome.success;
      if (owner.workers.alive) violate(fmt::format("{} exits with workers alive", index));
      // The process stays while its leader has something to say.
      owner.exited = true;
    } else if (auto* logged = std::get_if<member_output::Log>(&output)) {
      // With a short lease a mere delay is silence, and what was on the way is lost with the link.
      const bool silent = logged->reason.find(": silent for ") != std::string::npos;
      if (logged->event == kEventLeaderLost && silent) trouble(0s);
      note(fmt::format("  {} member {}: {}", index, logged->event, logged->reason));
    }
  }
  Node& after = node(index);
  hear_acks(index);
  if (!after.up || !after.exited || after.leader) return;
  if (after.election) after.election->end(now_);
  pump_election(index);
  kill_agent(index, false);
}

void World::lead_anew(int index, LeaderSeed seed) {
  Node& owner = node(index);
  spoil(scenario_.bug, now_, seed);
  ++leaders_;
  if (!seed.last_round && !scenario_.etcd) forget_if_nobody_knows(index, nullptr);
  note(fmt::format("{} leads, term {}", index, seed.term));
  owner.leader.reset();
  ++owner.leaders_here;
  auto policy = policy_options_;
  if (scenario_.bug == Bug::kNoBudget) policy.restarts.max_restarts = 1000;
  if (scenario_.bug == Bug::kStaySmall) policy.scale_up_quiet = 1000s;
  if (scenario_.bug == Bug::kGrowOften) policy.scale_up_interval = 0s;
  if (scenario_.bug == Bug::kGrowAtOnce) policy.scale_up_interval = policy.scale_up_quiet = 0s;
  owner.leads_with = owner.told;
  owner.led = {};
  owner.leads_to_end = false;
  owner.policy = std::make_unique<elastic::RoundPolicy>(policy, dice_.number());
  owner.leader = std::make_unique<Leader>(now_, owner.options, *owner.policy, std::move(seed));
  if (scenario_.bug != Bug::kForgetTarget) (void)owner.leader->follow_list(owner.target);
}

void World::pump_leader(int index) {
  Node& owner = node(index);
  if (!owner.up || !owner.leader) return;
  auto outputs = owner.leader->take_outputs(now_);
  if (scenario_.bug == Bug::kUncounted)
    *owner.policy = elastic::RoundPolicy(policy_options_, dice_.number());
  for (LeaderOutput& output : outputs) {
    if (auto* sent = std::get_if<leader_output::Send>(&output)) {
      if (const auto* assign = std::get_if<Assign>(&sent->message)) check_assign(index, *assign);
      send(sent->link, false, std::move(sent->message));
    } else if (const auto* shared = std::get_if<leader_output::SendAnswer>(&output)) {
      send_answer(index, shared->link, shared->answer, 0);
    } else if (auto* closed = std::get_if<leader_output::CloseLink>(&output)) {
      check_closed(*closed);
      close_link(closed->link, false);
    } else if (auto* dialled = std::get_if<NodeDial>(&output)) {
      confirm_dial(index, *dialled, /*by_leader=*/true);
    } else if (auto* asked = std::get_if<leader_output::AskCandidates>(&output)) {
      ask_everyone(index, *asked);
    } else if (auto* logged = std::get_if<leader_output::Log>(&output)) {
      if (logged->event == kEventRoundBroken && logged->reason.starts_with("grows from ")) {
        check_growth(index, logged->reason);
        owner.led.growing = true;
      }
      note(fmt::format("  {} leader {}: {}", index, logged->event, logged->reason));
    } else if (auto* down = std::get_if<leader_output::StepDown>(&output)) {
      note(fmt::format("{} steps down: {}", index, down->reason));
      return close_leader(index);
    } else if (std::holds_alternative<leader_output::Finished>(output)) {
      // Members hang up when they end; what was sent to them arrives.
      if (owner.election) owner.election->step_down(now_, true);
      return close_leader(index);
    }
  }
}

void World::close_leader(int index) {
  node(index).leader.reset();
  if (node(index).election) node(index).election->step_down(now_, false);
  for (auto& [id, link] : links_) {
    const bool ours = link.to == index && link.to_incarnation == node(index).incarnation;
    if (ours && link.to_open) close_link(id, false);
  }
}

}  // namespace muster::simulation
