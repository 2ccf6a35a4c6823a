// Which of the nodes that are there a launcher may use that outlives their coming and going. Pure.
// Who writes them down for it: launcher_files.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mpi/launch/hostfile.h"

namespace muster::launcher {

struct HostChoice {
  std::vector<mpi::HostSlots> hosts;
  std::vector<std::string> added;    ///< in their order in `hosts`
  std::vector<std::string> removed;  ///< in their order in what was before
  size_t spares = 0;                 ///< there, with ranks, and more than there may be
  [[nodiscard]] bool changed() const { return !added.empty() || !removed.empty() || resized; }
  bool resized = false;  ///< some host has other slots than before
};

/// Who was chosen before and is `present` stays, in the same order, so that ranks move as little as
/// can be; newcomers follow in the order of `present`, up to `most` hosts. Hosts without slots are
/// left out. O(n log n).
[[nodiscard]] HostChoice choose_hosts(const std::vector<mpi::HostSlots>& before,
                                      const std::vector<mpi::HostSlots>& present, size_t most);

}  // namespace muster::launcher
