// The simulator's workers: one local group per node.
#include <fmt/core.h>

#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

void World::later_for_group(int index, Duration delay, std::function<void()> what) {
  const uint64_t serial = node(index).workers.serial;
  after(delay, index, [this, index, serial, what = std::move(what)] {
    if (node(index).workers.serial == serial) what();
  });
}

void World::prepare(int index, const Assign& assign) {
  Workers& workers = node(index).workers;
  if (workers.alive) violate(fmt::format("{} prepares a round with workers alive", index));
  workers = Workers{WorkerState::kPreparing, assign, workers.serial + 1, false, false};
  const uint64_t round = assign.round;
  later_for_group(index, dice_.between(0s, 20ms), [this, index, round] {
    if (is_unfit()) return find_unfit(index);
    node(index).member->on_prepared(now_, round);
  });
}

bool World::is_unfit() {
  constexpr double kSometimes = 0.2;
  const bool may_be = features_.unfit_until && now_ < begin_ + *features_.unfit_until;
  return may_be && dice_.unit() < kSometimes;
}

// Itself, or, as the first node of the round, any of it.
void World::find_unfit(int index) {
  Workers& workers = node(index).workers;
  const Assign& assign = workers.assign;
  const bool own = assign.node_rank != 0 || dice_.unit() < 0.5;
  Failure unfit;
  unfit.rank = -1;
  unfit.node = node(index).name;
  unfit.reason = "not fit";
  unfit.unfit_node = own ? assign.node_rank : dice_.below(assign.node_count);
  note(
      fmt::format("{} finds node rank {} unfit, round {}", index, *unfit.unfit_node, assign.round));
  ++outcome_.unfit;
  workers.state = WorkerState::kEnding;
  ++workers.serial;
  node(index).member->on_failed(now_, assign.round, {unfit});
  if (node(index).up) later_for_group(index, 1ms, [this, index] { gone(index); });
}

void World::start(int index, const Assign& assign) {
  Workers& workers = node(index).workers;
  workers.state = WorkerState::kStarting;
  workers.alive = true;
  for (const auto fact : {assign.node_rank, assign.node_count, assign.rank_offset,
                          assign.world_size, assign.budget.restarts_charged})
    digest_.add(static_cast<uint64_t>(fact));
  digest_.add(assign.round);
  digest_.add(assign.term);
  live_through(index, assign);
  note(fmt::format("{} starts rank {}/{} of round {} term {}", index, assign.node_rank,
                   assign.node_count, assign.round, assign.term));
  const uint64_t round = assign.round;
  later_for_group(index, dice_.between(1ms, 200ms), [this, index, round] {
    if (node(index).workers.state != WorkerState::kStarting) return;
    node(index).workers.state = WorkerState::kRunning;
    node(index).member->on_started(now_, round);
    if (features_.step) make_steps(index);
    give(index);
    // Also where nothing else goes wrong.
    if (features_.alone && node(index).workers.assign.node_rank == 0)
      later_for_group(index, dice_.between(1s, 60s), [this, index] { fail_worker(index); });
    // With a launcher its end is that of all.
    if (options_.rule.first_decides() && node(index).workers.assign.node_rank != 0) return;
    later_for_group(index, work_ + dice_.between(0s, 1s), [this, index] { succeed(index); });
  });
}

// One after the other, each together with all others of the round; what they say to each other
// takes other ways than what agents say.
void World::make_steps(int index) {
  later_for_group(index, *features_.step, [this, index] {
    Node& owner = node(index);
    if (owner.workers.state != WorkerState::kRunning) return;
    if (!is_awaited(index)) {
      ++outcome_.steps;
      const int64_t step = owner.lived->checkpoint + ++owner.workers.steps;
      lived_.step(*owner.lived, step);
      owner.member->on_progress(now_, owner.workers.assign.round, step);
    }
    make_steps(index);
  });
}

// Some other node of its round is not there, or behind.
bool World::is_awaited(int index) {
  const Node& owner = node(index);
  int together = 0;
  for (const Node& other : nodes_) {
    const bool runs = other.up && other.frozen_until <= now_ && other.lived == owner.lived &&
                      other.workers.state == WorkerState::kRunning;
    if (runs && other.workers.steps >= owner.workers.steps) ++together;
  }
  return together < owner.workers.assign.node_count;
}

void World::stop(int index, uint64_t round, Duration grace) {
  Workers& workers = node(index).workers;
  if (workers.assign.round != round) return;
  check_stopped_launcher(index);
  check_saved(index, grace);
  const bool saved = workers.state == WorkerState::kEnding && !workers.alive;
  workers.state = WorkerState::kEnding;
  ++workers.serial;
  if (saved) return later_for_group(index, 1ms, [this, index] { gone(index); });
  if (scenario_.bug == Bug::kLateStop) {
    const uint64_t incarnation = node(index).incarnation;
    after(1ms, index, [this, index, round] { node(index).member->on_gone(now_, round); });
    after(dice_.between(0s, grace), -1, [this, index, incarnation, round] {
      Node& late = node(index);
      if (late.incarnation == incarnation && late.workers.assign.round == round) {
        late.workers.alive = false;
      }
    });
    return;
  }
  // Workers take their time, the agent kills them at the end of the grace period.
  later_for_group(index, std::min(grace, dice_.between(0s, 15s)) + 1ms,
                  [this, index] { gone(index); });
}

// As LocalGroup and NodeAgent do it: who saves for another's sake and ends has not succeeded, and
// says nothing until it is stopped.
void World::save(int index, const member_output::NotifyWorkers& notice) {
  Workers& workers = node(index).workers;
  const bool own = notice.leaver_is_self;
  if (notice.grace <= 0s || (!own && !options_.preempt_notify_all)) return;
  // Of a node that goes itself the others' time does not count.
  if (!own && node(index).lived->go.contains(node(index).incarnation)) return;
  const bool none = options_.rule.first_decides() && workers.assign.node_rank != 0;
  if (workers.state != WorkerState::kRunning || none)
    return node(index).member->on_saved(now_, notice.round);
  const TimePoint until = now_ + notice.grace / 2;
  workers.save_until = own ? until : std::max(until, workers.save_until);
  note(fmt::format("{} saves, round {}", index, notice.round));
  if (features_.ends_saved)
    later_for_group(index, features_.save, [this, index, own] { saved(index, own); });
}

void World::saved(int index, bool leaves) {
  Node& owner = node(index);
  const uint64_t round = owner.workers.assign.round;
  note(fmt::format("{} has saved, round {}", index, round));
  owner.workers.alive = false;
  owner.workers.state = WorkerState::kEnding;
  ++owner.workers.serial;
  const bool runs = owner.member->state() == MemberState::kRunning;
  if (runs && !leaves) return owner.member->on_saved(now_, round);
  if (runs) owner.member->on_failed(now_, round, {});
  gone(index);
}

void World::kill(int index, uint64_t round, const std::string& reason) {
  Workers& workers = node(index).workers;
  if (workers.assign.round != round) return;
  note(fmt::format("{} kills its workers: {}", index, reason));
  if (scenario_.bug == Bug::kNoFence) return;
  workers.state = WorkerState::kEnding;
  workers.alive = false;
  ++workers.serial;
  later_for_group(index, dice_.between(1ms, 50ms), [this, index] { gone(index); });
}

void World::gone(int index) {
  Workers& workers = node(index).workers;
  workers.alive = false;
  workers.state = WorkerState::kNone;
  ++workers.serial;
  node(index).member->on_gone(now_, workers.assign.round);
}

void World::start_alone(int index, const member_output::RestartAlone& answer) {
  Workers& workers = node(index).workers;
  const bool runs = workers.state == WorkerState::kRunning && workers.failed;
  if (!runs || workers.assign.round != answer.failed.round) return;
  const TimePoint failed = *std::exchange(workers.failed, std::nullopt);
  if (!answer.verdict.restart) return fail_worker(index, /*for_good=*/true);
  note(fmt::format("worker of {} starts again alone, round {}", index, workers.assign.round));
  node(index).lived->alone.push_back(failed);
  ++outcome_.alone;
}

void World::fail_worker(int index, bool for_good) {
  Node& owner = node(index);
  const bool running =
      owner.workers.state == WorkerState::kStarting || owner.workers.state == WorkerState::kRunning;
  // With a launcher the others have no processes.
  if (!running || (options_.rule.first_decides() && owner.workers.assign.node_rank != 0)) return;
  Failure failure;
  failure.local_rank = dice_.below(std::max(1, owner.workers_in_all));
  failure.rank = owner.workers.assign.rank_offset + failure.local_rank;
  if (options_.rule.first_decides()) failure.rank = -1;
  failure.node = owner.name;
  failure.exit_code = 1 + dice_.below(3);
  failure.failure_class = "user error";
  failure.reason = "exit code";
  note(fmt::format("worker of {} fails, round {}", index, owner.workers.assign.round));
  if (features_.alone && !for_good && owner.workers.state == WorkerState::kRunning) {
    if (owner.workers.failed) return;
    owner.workers.failed = now_;
    return owner.member->on_word(now_, owner.workers.assign.round,
                                 LoneEnd{failure.rank, failure.reason});
  }
  if (!owner.lived->failed) owner.lived->failed = now_;
  owner.workers.state = WorkerState::kEnding;
  ++owner.workers.serial;
  owner.member->on_failed(now_, owner.workers.assign.round, {failure});
  if (node(index).up)
    later_for_group(index, dice_.between(1ms, 500ms), [this, index] { gone(index); });
  if (!features_.link_breaks) return;
  const int other = dice_.below(static_cast<int>(nodes_.size()));
  after(options_.lost_grace + dice_.between(0s, 20ms), -1, [this, other] {
    note(fmt::format("links of {} break", other));
    node(other).calm_since = std::max(node(other).calm_since, now_ + 2 * options_.lease);
    break_links(other);
  });
}

}  // namespace muster::simulation
