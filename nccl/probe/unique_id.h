// What NCCL writes into a unique id: where its bootstrap listens, and so which interface it has
// chosen. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/socket.h"

namespace muster::probe {

inline constexpr size_t kUniqueIdBytes = 128;  ///< NCCL_UNIQUE_ID_BYTES of nccl.h, all versions

/// Bytes 0 to 7 are a random number, from byte 8 on a sockaddr_in or sockaddr_in6 of this machine
/// (struct ncclBootstrapHandle of NCCL's src/include/bootstrap.h, 2.13 to 2.30; seen with 2.32.3).
/// None: another family, or port 0.
[[nodiscard]] std::optional<Address> bootstrap_address(
    std::span<const std::byte, kUniqueIdBytes> id);

}  // namespace muster::probe
