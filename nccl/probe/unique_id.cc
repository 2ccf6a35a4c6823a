#include "nccl/probe/unique_id.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

namespace muster::probe {
namespace {

constexpr size_t kAddressOffset = 8;

std::optional<Address> make_address(int family, const void* host, in_port_t port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (port == 0 || inet_ntop(family, host, text.data(), text.size()) == nullptr) return {};
  return Address{text.data(), ntohs(port)};
}

}  // namespace

std::optional<Address> bootstrap_address(std::span<const std::byte, kUniqueIdBytes> id) {
  const std::byte* bytes = id.data() + kAddressOffset;
  sa_family_t family = 0;
  std::memcpy(&family, bytes, sizeof family);
  if (family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, bytes, sizeof address);
    return make_address(AF_INET, &address.sin_addr, address.sin_port);
  }
  if (family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes, sizeof address);
    return make_address(AF_INET6, &address.sin6_addr, address.sin6_port);
  }
  return {};
}

}  // namespace muster::probe
