// The promises that the simulator checks after every event.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr Duration kToComeAndStop = 5s;  // to find another leader and to stop the workers for it

}  // namespace

void World::check() {
  std::vector<int> alive;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& other = node(i);
    const bool forgotten = other.workers.forgotten && now_ < forgotten_until_;
    const bool counts = other.workers.alive && other.frozen_until <= now_ && !forgotten;
    if (other.up && counts) alive.push_back(i);
  }
  if (alive.empty()) return;
  check_round(alive);
  if (outcome_.split) return;
  check_running_round(alive);
  check_target(alive);
}

void World::check_round(const std::vector<int>& alive) {
  const Assign& first = node(alive.front()).workers.assign;
  std::set<int> ranks;
  std::set<int> node_ranks;
  for (const int i : alive) {
    const Assign& assign = node(i).workers.assign;
    if (assign.round != first.round || assign.term != first.term) {
      outcome_.split = is_apart(node(alive.front()), node(i));
      if (outcome_.split) return;
      return violate(fmt::format("round {} (term {}) on {} while round {} (term {}) on {}",
                                 assign.round, assign.term, i, first.round, first.term,
                                 alive.front()));
    }
    if (!node_ranks.insert(assign.node_rank).second) {
      return violate(fmt::format("node rank {} twice in round {}", assign.node_rank, assign.round));
    }
    for (int k = 0; k < node(i).workers_in_all; ++k) {
      if (!ranks.insert(assign.rank_offset + k).second) {
        return violate(
            fmt::format("rank {} twice in round {}", assign.rank_offset + k, assign.round));
      }
    }
    if (!ranks.empty() && *ranks.rbegin() >= assign.world_size)
      violate("rank beyond the world size");
    if (assign.node_rank == 0 && options_.rule.has_appointed() && node(i).place != 0)
      violate(fmt::format("{} launches, which has not that role", i));
    if (options_.known_nodes && assign.node_rank != node(i).place % options_.max_nodes)
      violate(fmt::format("{} has node rank {}, which is another's", i, assign.node_rank));
    if (!was_asked_for(options_, assign.node_count)) {
      return violate(fmt::format("round of {} nodes, allowed {}..{} step {}{}", assign.node_count,
                                 options_.min_nodes, options_.max_nodes, options_.nodes_step,
                                 options_.allowed_nodes.empty() ? "" : ", or only these two"));
    }
  }
}

// Where lists change, who runs may be none of those who may lead by a newcomer's list. Whether it
// has a leader it is only asked then, and if it does not answer in time that proves nothing
// (rendezvous/wire/CONTROL_PROTOCOL.md): two jobs may go on, for good.
bool World::is_apart(const Node& one, const Node& other) {
  return apart_.contains(one.incarnation) || apart_.contains(other.incarnation);
}

// Once all nodes of a round run: what must hold from one such round to the next.
void World::check_running_round(const std::vector<int>& alive) {
  const Assign& first = node(alive.front()).workers.assign;
  const RoundKey key{first.term, first.round};
  if (static_cast<int>(alive.size()) != first.node_count || key == newest_.key) return;
  for (const int i : alive) {
    if (node(i).workers.state != WorkerState::kRunning) return;
  }
  // A round that nobody who was in it lived to tell of may have had a later key.
  const bool told_of = std::ranges::any_of(nodes_, [this](const Node& other) {
    return other.up && newest_.ranks.contains(other.incarnation);
  });
  if (key < newest_.key && told_of) violate("an old round runs again");
  int ranks_in_all = 0;
  for (const int i : alive) ranks_in_all += node(i).workers_in_all;
  if (ranks_in_all != first.world_size)
    violate(fmt::format("{} ranks run in a world of {}", ranks_in_all, first.world_size));
  ++outcome_.rounds;
  // Where a minority may go on, so may one that knows of no restart.
  if (first.budget.restarts_charged < newest_.restarts && !scenario_.etcd) {
    violate(fmt::format("budget lost: {} restarts were charged, now {}", newest_.restarts,
                        first.budget.restarts_charged));
  }
  RanRound ran{
      key, static_cast<int>(node(alive.front()).lived->charges.all.size()), outcome_.unfit, {}};
  for (const int i : alive) ran.ranks[node(i).incarnation] = node(i).workers.assign.node_rank;
  const auto who = [](const auto& entry) { return entry.first; };
  const bool same = std::ranges::equal(ran.ranks, newest_.ranks, {}, who, who);
  // Whoever was not fit may have lost its seat to a spare in a round that never ran.
  const bool reseated = ran.unfit != newest_.unfit;
  if (same && !reseated && ran.ranks != newest_.ranks) violate("same members, other ranks");
  if (key.round == newest_.key.round + 1) check_kept_places(newest_, ran);
  newest_ = std::move(ran);
}

// With no round in between, who is in both keeps its place among those who are, whoever else went
// or came. (Not so over several rounds: who was away for one, and was replaced in it, gets what is
// free when it comes back, or moves those behind its old place.)
void World::check_kept_places(const RanRound& before, const RanRound& now) {
  std::map<int, int> kept;  // old rank -> new one
  for (const auto& [incarnation, rank] : before.ranks) {
    const auto found = now.ranks.find(incarnation);
    if (found != now.ranks.end()) kept[rank] = found->second;
  }
  if (!std::ranges::is_sorted(kept, {}, [](const auto& entry) { return entry.second; }))
    violate("members of two rounds in a row changed places");
}

void World::check_assign(int index, const Assign& assign) {
  check_wanted(index, assign);
  if (node(index).leads_to_end)
    violate(fmt::format("{} begins a round, and knows that the job is to end", index));
  begin_led(index, assign);
  const Node& owner = node(index);
  const auto nodes = owner.leader->nodes();
  const size_t here = nodes.size();
  // Whom its leader could ask when it began may be out of reach when the job begins anew.
  const bool first = assign.round == 1 && assign.node_rank == 0 && !scenario_.etcd;
  if (first && knowing_elsewhere(index)) forget_if_nobody_knows(index, &nodes);
  if (options_.rule.leader_alone() && here < static_cast<size_t>(options_.min_nodes))
    violate(fmt::format("{} launches with {} nodes, {} are the least", index, here,
                        options_.min_nodes));
}

void World::check_closed(const leader_output::CloseLink& closed) {
  // Who left says why, and so perhaps that another one was.
  const size_t again = closed.reason.find("was started again");
  if (again == std::string::npos || again > closed.reason.find(" left: ")) return;
  const auto found = links_.find(closed.link);
  if (found == links_.end()) return;
  const Node& other = node(found->second.from);
  if (other.up && other.incarnation == found->second.from_incarnation)
    violate(fmt::format("{} lives, its leader says that it {}", other.place, closed.reason));
}

// Nothing that other nodes do ends the launcher that can do without them, but that they remember a
// later one, of a job that it began anew.
void World::check_stopped_launcher(int index) {
  const Node& owner = node(index);
  const bool runs =
      owner.workers.state == WorkerState::kStarting || owner.workers.state == WorkerState::kRunning;
  const bool remembered = forgotten_.key.round > owner.workers.assign.round &&
                          std::ranges::any_of(nodes_, [this](const Node& other) {
                            return other.up && other.knows && other.incarnation < forgotten_before_;
                          });
  const bool alone = options_.rule.leader_alone() && !scenario_.etcd && runs &&
                     now_ >= forgotten_until_ && !remembered;
  if (alone && now_ > owner.calm_since && owner.lived->began > owner.calm_since)
    violate(fmt::format("the launcher on {} is stopped, to which nothing happened", index));
}

// Whoever was told to save has that time, whatever happens to others, unless nobody is left to go
// on, or somebody has: then SIGTERM comes at once, but no SIGKILL. (With a launcher its end is that
// of all; who is fenced is killed, which is not asked here.)
void World::check_saved(int index, Duration grace) {
  const Node& owner = node(index);
  const Workers& workers = owner.workers;
  if (!workers.alive || now_ >= workers.save_until || options_.rule.first_decides()) return;
  const bool all_go = static_cast<int>(owner.lived->go.size()) >= workers.assign.node_count;
  if (workers.cut || (all_go && now_ + grace >= workers.save_until)) return;
  violate(fmt::format("{} is stopped, it has {:.1f} s to save", index,
                      to_seconds(workers.save_until - now_)));
}

// The job's memory is in its agents, and a fresh candidate asks the other candidates. Where none of
// those is left that could tell it, a new job begins, as far as it can know. The members of the old
// one come and tell within moments, and a round of fewer than all waits for them
// (LeaderCore::may_be_partial). One of all does not wait, because every job begins so. If the
// network keeps them from coming, both may run until the old ones fence themselves. `here`: whose
// round begins now; null = they come as yet.
void World::forget_if_nobody_knows(int fresh, const std::vector<RosterEntry>* here) {
  std::vector<int> leaders;
  for (int i = 0; i < candidates_; ++i) leaders.push_back(newest(nodes_, i));
  if (features_.list_changes) {
    leaders.clear();
    for (const Candidate& place : node(fresh).list.current) {
      if (const int found = who_has(place); found >= 0) leaders.push_back(found);
    }
  }
  for (const int asked : leaders) {
    const Node& other = node(asked);
    if (other.up && other.knows && other.frozen_until <= now_ && reachable(fresh, asked)) return;
  }
  const bool trouble = std::any_of(nodes_.begin(), nodes_.end(), [this](const Node& other) {
    return other.slow_until > now_ || other.frozen_until > now_ || other.side != nodes_[0].side ||
           !cut_.empty();
  });
  // A ghost is not forgotten where a node of its round comes in time.
  const auto came = [here](const Node& other) {
    return std::ranges::any_of(*here, [&other](const RosterEntry& entry) {
      return entry.identity.incarnation == other.incarnation;
    });
  };
  const bool told = std::ranges::any_of(nodes_, [&](const Node& other) {
    return other.up && other.knows && other.side == node(fresh).side &&
           (here == nullptr || came(other));
  });
  const auto ghost = std::ranges::find_if(
      nodes_, [](const Node& other) { return other.ghost && other.workers.alive; });
  for (Node& other : nodes_) other.workers.forgotten = !other.ghost || !told;
  forgotten_until_ = now_ + (trouble ? options_.lease : kToComeAndStop);
  if (!told && ghost != nodes_.end()) forgotten_until_ += 2 * options_.lease + options_.stop_grace;
  if (newest_.key.round > 0) forgotten_ = std::exchange(newest_, {});
  forgotten_before_ = next_incarnation_;
  lived_.forget();
}

bool World::knowing_elsewhere(int fresh) {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const bool ghost = node(i).ghost && node(i).workers.alive;
    if (node(i).up && node(i).knows && (ghost || !reachable(fresh, i))) return true;
  }
  return false;
}

}  // namespace muster::simulation
