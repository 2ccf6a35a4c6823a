#include "launcher/local/node_network.h"

#include <algorithm>

namespace muster::launcher {

bool is_parted(const std::vector<int>& side, int one, int other) {
  const auto is_inside = [&side](int node) {
    return std::find(side.begin(), side.end(), node) != side.end();
  };
  return is_inside(one) != is_inside(other);
}

}  // namespace muster::launcher
