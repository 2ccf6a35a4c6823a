#include "nccl/probe/unique_id.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

namespace muster::probe {
namespace {

using Id = std::array<std::byte, kUniqueIdBytes>;

// The bytes from `at` on; the first eight, a random number, are not 0.
Id make_id(size_t at, std::initializer_list<int> bytes) {
  Id id{};
  id.fill(std::byte{0});
  for (size_t i = 0; i < 8; ++i) id[i] = std::byte{0xa5};
  for (const int byte : bytes) id[at++] = std::byte(byte);
  return id;
}

TEST(UniqueId, HoldsAnAddressOfIpv4) {
  const Id id = make_id(8, {2, 0, 0xc3, 0x51, 10, 0, 0, 5});
  EXPECT_EQ(bootstrap_address(id), (Address{"10.0.0.5", 50001}));
}

TEST(UniqueId, HoldsAnAddressOfIpv6) {
  const Id id = make_id(
      8, {10, 0, 0x1f, 0x90, 0, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  EXPECT_EQ(bootstrap_address(id), (Address{"fd00::7", 8080}));
}

TEST(UniqueId, OfAnotherFormHasNoAddress) {
  EXPECT_FALSE(bootstrap_address(make_id(8, {})));
  EXPECT_FALSE(bootstrap_address(make_id(8, {1, 0, '/', 't'})));
  EXPECT_FALSE(bootstrap_address(make_id(8, {2, 0, 0, 0, 10, 0, 0, 5})));  // no port
}

}  // namespace
}  // namespace muster::probe
