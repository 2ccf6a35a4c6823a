// The simulator's checks of the budget, against what workers lived through.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace rendezvous;

// After that the leases of whatever happened are over, twice.
void World::trouble(Duration length) { lived_.trouble(now_ + length + 2 * options_.lease); }

void World::live_through(int index, const Assign& assign) {
  Node& owner = node(index);
  const Charges charged = lived_.charged_after(owner.lived);
  owner.lived = lived_.start(now_, {assign.term, assign.round}, charged);
  const auto window = policy_options_.window;
  const int restarts = counted_in(window, now_, charged.kept);
  const std::string length = window ? " in " + format_duration(*window) : "";
  const int allowed = policy_options_.restarts.max_restarts;
  if (restarts > allowed) {
    violate(fmt::format("budget exceeded: {} lived through {} restarts{}, {} are allowed", index,
                        restarts, length, allowed));
  }
  const int in_all = static_cast<int>(charged.all.size());
  if (assign.budget.restarts_charged < in_all) {
    violate(fmt::format("budget lost: {} lived through {} restarts, its leader counts {}", index,
                        in_all, assign.budget.restarts_charged));
  }
  if (!window) return;
  const auto& ages = assign.budget.restart_ages_ms;
  const auto known = std::ranges::count_if(
      ages, [&](int64_t age) { return std::chrono::milliseconds(age) < *window; });
  if (known < restarts) {
    violate(fmt::format("budget lost: {} lived through {} restarts{}, its leader counts {}", index,
                        restarts, length, known));
  }
}

}  // namespace muster::simulation
