// Url: where reports go, taken apart. Only what a request needs of it; nothing is looked up. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::launcher {

/// Longer ones are refused by proxies and servers.
inline constexpr size_t kMaxUrlBytes = 2048;

struct Url {
  bool secure = false;  ///< https
  std::string host;     ///< a name or a numeric address, without brackets
  uint16_t port = 0;    ///< 80 or 443 where the text has none
  std::string path;     ///< with the query, from the first '/'; never empty
  /// "https://controller:8443/report"; without the query, which may be secret.
  [[nodiscard]] std::string shown() const;
};

/// "http://HOST[:PORT][/PATH][?QUERY]" or "https://…"; an IPv6 address in brackets. What is behind
/// '#' is left out. kUsage: anything else, also a user and a password, which everybody would see in
/// the list of processes.
Result<Url> parse_url(std::string_view text);

}  // namespace muster::launcher
