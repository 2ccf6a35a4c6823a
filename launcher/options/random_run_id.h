// The run id of a job that was given none. Pure: the randomness is the caller's.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace muster::launcher {

/// 16 bytes of randomness, for a run id.
using RandomBytes = std::array<uint8_t, 16>;

/// A version 4 UUID, as torchrun's random run ids.
[[nodiscard]] std::string random_run_id(RandomBytes bytes);

}  // namespace muster::launcher
