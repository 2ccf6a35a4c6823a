// Limits: what this process may have of memory that it locks, of descriptors, of stack and of
// processes, as /proc/self/limits says. Limits of its control groups: container.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "nccl/machine/machine.h"

namespace muster::nccl {

struct Limit {
  bool is_known = false;
  std::optional<uint64_t> soft;  ///< none = unlimited, if it is known
  std::optional<uint64_t> hard;
};

struct Limits {
  Limit locked_bytes;
  Limit open_files;
  Limit stack_bytes;
  Limit processes;  ///< of the user
};

/// Rows "Max locked memory  8388608  unlimited  bytes". Rows that are missing or malformed stay
/// unknown. Source: proc_pid_limits(5).
[[nodiscard]] Limits parse_limits(std::string_view text);

/// Of a recorded machine /ulimits, as whoever captured it had them, else /proc/self/limits.
[[nodiscard]] Limits read_limits(const MachineView& view);

}  // namespace muster::nccl
