// IpNetwork: a range of numeric addresses, as "10.0.0.0/8". Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class IpNetwork {
 public:
  /// "10.1.0.0/16", "fd00::/8"; without a length one address. Bits behind the length do not count.
  /// kUsage: no numeric address, or a length that the family does not have.
  static Result<IpNetwork> parse(std::string_view text);

  /// `host`: numeric; anything else, and one of the other family, is not in it. An IPv4 address is
  /// meant also where it is written as IPv6 (::ffff:10.0.0.1).
  [[nodiscard]] bool contains(const std::string& host) const;

 private:
  using Bytes = std::array<uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d
  static bool read(const std::string& host, Bytes& bytes);

  Bytes bytes_{};
  unsigned length_ = 0;  // of 128
};

}  // namespace muster
