#include "base/ip_network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "base/text.h"

namespace muster {

namespace {
constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;  // before an IPv4 address written as IPv6 (RFC 4291, 2.5.5.2)
}  // namespace

bool IpNetwork::read(const std::string& host, Bytes& bytes) {
  in_addr v4{};
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return true;
  if (inet_pton(AF_INET, host.c_str(), &v4) != 1) return false;
  bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(bytes.data() + kMappedBits / 8, &v4, sizeof v4);
  return true;
}

Result<IpNetwork> IpNetwork::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  IpNetwork network;
  const Error wrong{Code::kUsage, 0,
                    "'" + std::string(text) + "' is no address range such as 10.0.0.0/8"};
  if (!read(host, network.bytes_)) return wrong;
  const unsigned before = host.find(':') == std::string::npos ? kMappedBits : 0;
  network.length_ = kBits;
  if (slash == std::string_view::npos) return network;
  const auto length = parse_integer(text.substr(slash + 1));
  if (!length || *length < 0 || *length > kBits - before) return wrong;
  network.length_ = before + static_cast<unsigned>(*length);
  return network;
}

bool IpNetwork::contains(const std::string& host) const {
  Bytes other{};
  if (!read(host, other)) return false;
  const unsigned whole = length_ / 8;
  if (std::memcmp(bytes_.data(), other.data(), whole) != 0) return false;
  if (length_ % 8 == 0) return true;
  const auto mask = static_cast<uint8_t>(0xffU << (8 - length_ % 8));
  return ((bytes_[whole] ^ other[whole]) & mask) == 0;
}

}  // namespace muster
