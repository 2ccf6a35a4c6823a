#include "nccl/machine/amd_uuid.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <system_error>

namespace muster::nccl {

std::string amd_uuid(std::string_view unique_id) {
  uint64_t id = 0;
  const auto parsed = std::from_chars(unique_id.data(), unique_id.data() + unique_id.size(), id);
  return parsed.ec == std::errc() && id != 0 ? fmt::format("GPU-{:016x}", id) : "";
}

}  // namespace muster::nccl
