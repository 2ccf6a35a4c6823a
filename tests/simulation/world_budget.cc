// The job's budget as its workers lived through it. No leader is asked what it counted: a round
// that follows one in which a worker failed, while nothing else went wrong, is a restart that was
// charged.
#include <fmt/core.h>

#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace rendezvous;

// After that the leases of whatever happened are over, twice.
void World::trouble(Duration length) {
  trouble_until_ = std::max(trouble_until_, now_ + length + 2 * options_.lease);
}

void World::note_failed(int index) { node(index).lived->failed = true; }

void World::live_through(int index, const Assign& assign) {
  Node& owner = node(index);
  int restarts = 0;
  if (owner.lived) {
    const bool charged = owner.lived->failed && trouble_until_ <= owner.lived->began;
    restarts = owner.lived->restarts + (charged ? 1 : 0);
  }
  auto& round = lived_[{assign.term, assign.round}];
  if (!round) round = std::make_shared<LivedRound>(LivedRound{.began = now_});
  round->restarts = std::max(round->restarts, restarts);
  owner.lived = round;
  const int allowed = policy_options_.restarts.max_restarts;
  if (restarts > allowed) {
    violate(fmt::format("budget exceeded: {} lived through {} restarts, {} are allowed", index,
                        restarts, allowed));
  }
  if (assign.budget.restarts_charged < restarts) {
    violate(fmt::format("budget lost: {} lived through {} restarts, its leader counts {}", index,
                        restarts, assign.budget.restarts_charged));
  }
}

}  // namespace muster::simulation
