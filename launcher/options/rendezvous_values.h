// Rendezvous values: the grammars of the flags that say where and how the nodes meet, pure. Errors
// as in option_values.h, which has those of other flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/options/options.h"

namespace muster::launcher {

inline constexpr size_t kMaxHostBytes = 253;  ///< RFC 1035
inline constexpr int kDefaultRendezvousPort = 29'400;

/// "host", "host:port", "[v6]", "[v6]:port"; host is of letters, digits and "_.-", port 0..65535.
struct Endpoint {
  std::string host;         ///< without brackets
  std::optional<int> port;  ///< none = not given; 0 = any free port
};
Result<Endpoint> parse_endpoint(std::string_view text);
/// Endpoints between commas, in order of preference; "" is none. One is all torchrun allows. Also
/// patterns and services: those are only split here, rendezvous/finding/host_list.h expands and
/// checks them.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

/// The port that somebody asked for where this node meets nobody: --master-port, else the
/// endpoint's unless that is etcd's.
struct WantedPort {
  uint16_t port = 0;      ///< 0 = any free one, so that jobs do not collide
  const char* flag = "";  ///< that asked for it
};
[[nodiscard]] WantedPort wanted_port(const Options& options);

/// "k=v,k=v", white space around keys and values dropped; the last of equal keys wins. The values
/// of the keys that torchrun reads are checked: times are integers of seconds > 0, is_host a
/// boolean, store_type tcp (a store in a file is not supported).
Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text);
/// Why that key does nothing with that backend, a sentence whose subject it is; "" = it counts,
/// or is use_libuv, which nobody reads and which may be written for torchrun's sake.
[[nodiscard]] std::string_view without_effect(std::string_view rdzv_key, RendezvousBackend backend);

}  // namespace muster::launcher
