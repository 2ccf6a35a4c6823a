#include "nccl/plan/gid_choice.h"

#include <algorithm>

namespace muster::nccl {
namespace {

bool is_of_family(const Gid& gid, bool ipv6) { return is_ipv4(gid) != ipv6; }

}  // namespace

bool is_usable(const Gid& gid) {
  return gid.version != RoceVersion::kUnreadable && !is_link_local(gid);
}

bool has_usable_gid(const RdmaPort& port) { return std::ranges::any_of(port.gids, is_usable); }

bool has_readable_gid(const RdmaPort& port) {
  return std::ranges::any_of(
      port.gids, [](const Gid& gid) { return gid.version != RoceVersion::kUnreadable; });
}

bool has_usable_ipv4(const RdmaPort& port) {
  return std::ranges::any_of(port.gids,
                             [](const Gid& gid) { return is_usable(gid) && is_ipv4(gid); });
}

int automatic_gid_index(const RdmaPort& port, bool ipv6) {
  const Gid* best = nullptr;
  for (const Gid& gid : port.gids) {
    if (!is_usable(gid) || !is_of_family(gid, ipv6)) continue;
    const bool better =
        best == nullptr || (gid.version == RoceVersion::kV2 && best->version != RoceVersion::kV2);
    if (better) best = &gid;
  }
  return best == nullptr ? 0 : best->index;
}

const Gid* gid_at(const RdmaPort& port, int index) {
  const auto found = std::ranges::find(port.gids, index, &Gid::index);
  return found == port.gids.end() ? nullptr : &*found;
}

std::string describe_gid(const RdmaPort& port, int index) {
  const Gid* gid = gid_at(port, index);
  if (gid == nullptr) return "empty";
  if (gid->version == RoceVersion::kUnreadable) return "in another network namespace";
  if (is_link_local(*gid)) return "link-local";
  return (gid->version == RoceVersion::kV2 ? "RoCE v2 " : "RoCE v1 ") + to_string(*gid);
}

}  // namespace muster::nccl
