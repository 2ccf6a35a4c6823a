// The simulator's checks of the budget, against what workers lived through.
#include <fmt/core.h>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace rendezvous;

// After that the leases of whatever happened are over, twice.
void World::trouble(Duration length) { lived_.trouble(now_ + length + 2 * options_.lease); }

void World::live_through(int index, const Assign& assign) {
  Node& owner = node(index);
  const int restarts = lived_.restarts_after(owner.lived);
  owner.lived = lived_.start(now_, {assign.term, assign.round}, restarts);
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
