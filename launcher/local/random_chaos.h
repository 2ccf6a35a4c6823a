// Random faults for `muster local`: drawn from a seed, so that a run can be repeated. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/local/chaos.h"

namespace muster::launcher {

/// `part`: "random:seed=N[:faults=N][:every=TIME]", 3 faults 5 s apart when left out. One fault at
/// a time, undone after half of the pause: a killed or preempted node comes back, a stopped one is
/// continued, a partition healed; no more than two ranks are killed, as a third would be a crash
/// loop. The same text and number of nodes give the same faults, on every
/// machine. kUsage names the word that is wrong.
Result<std::vector<Fault>> draw_faults(std::string_view part, int nodes);

}  // namespace muster::launcher
