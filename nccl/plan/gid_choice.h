// GidChoice: which entry of a RoCE port's GID table NCCL takes by itself, and whether that is one
// by which peers can be reached. Pure.
#pragma once

#include <optional>
#include <string>

#include "nccl/machine/rdma.h"

namespace muster::nccl {

/// A GID by which others are reached: its type can be read, and it is not link-local.
[[nodiscard]] bool is_usable(const Gid& gid);
/// None: the port has none, so nothing can be sent from this container.
[[nodiscard]] bool has_usable_gid(const RdmaPort& port);
/// There is at least a link-local one: the interface is in this network namespace.
[[nodiscard]] bool has_readable_gid(const RdmaPort& port);
[[nodiscard]] bool has_usable_ipv4(const RdmaPort& port);

/// The index that NCCL chooses on RoCE (since 2.21; tables with holes since 2.26): the first entry
/// of the wanted family with RoCE v2, else the first of the wanted family, else 0.
/// Source: ncclIbGetGidIndex() (NCCL 2.30).
[[nodiscard]] int automatic_gid_index(const RdmaPort& port, bool ipv6);

/// The entry at `index`. Null: it is empty.
[[nodiscard]] const Gid* gid_at(const RdmaPort& port, int index);

/// What stands at an index, for people: "RoCE v2 10.200.1.10", "empty", "RoCE v1 10.200.1.10",
/// "link-local", "in another network namespace".
[[nodiscard]] std::string describe_gid(const RdmaPort& port, int index);

}  // namespace muster::nccl
