// The command line of muster-probe: a verb and a few flags. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster::probe {

inline constexpr Duration kDefaultTimeout = std::chrono::seconds(10);
inline constexpr Duration kMaxTimeout = std::chrono::hours(1);

enum class Verb { kFabric, kPingPong, kNccl, kAllReduce, kGpus };

/// "fabric", "pingpong", "nccl", "allreduce", "gpus".
[[nodiscard]] std::string_view to_string(Verb verb);

struct ProbeCall {
  Verb verb = Verb::kFabric;
  Duration timeout = kDefaultTimeout;
  // Of pingpong alone:
  std::optional<Address> peer;  ///< none = the side that is called
  uint16_t port = 0;            ///< to be called at; 0 = the kernel chooses
  std::string provider;         ///< as libfabric names it; "" = the first that there is
  std::string interface;        ///< "" = that of the connection between the two
};

/// `arguments`: without the program's name. kUsage, in one line.
Result<ProbeCall> parse_command_line(std::span<const std::string_view> arguments);

}  // namespace muster::probe
