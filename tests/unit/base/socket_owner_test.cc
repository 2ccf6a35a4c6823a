#include "base/socket_owner.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/fake_files.h"

namespace muster {
namespace {

// From a real machine (x86: bytes of an address are turned round).
constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
    "   0: 0100007F:72D8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
    "   1: 0100007F:B26E 0100007F:72D8 01 00000000:00000000 00:00000000 00000000  1500        0 2\n"
    "   2: 0100007F:72D8 0100007F:B26E 01 00000000:00000000 00:00000000 00000000     0        0 3\n"
    "   3: 0100007F:72D8\n";

const Address kServer{"127.0.0.1", 0x72d8};
const Address kCaller{"127.0.0.1", 0xb26e};

TEST(SocketOwner, EachEndHasItsOwn) {
  EXPECT_EQ(find_socket_owner(kTable, kCaller, kServer), 1500U);
  EXPECT_EQ(find_socket_owner(kTable, kServer, kCaller), 0U);
}

TEST(SocketOwner, OthersHaveNone) {
  EXPECT_EQ(find_socket_owner(kTable, {"127.0.0.1", 1}, kServer), std::nullopt);
  EXPECT_EQ(find_socket_owner(kTable, {"127.0.0.2", 0xb26e}, kServer), std::nullopt);
  EXPECT_EQ(find_socket_owner(kTable, {"localhost", 0xb26e}, kServer), std::nullopt);
  EXPECT_EQ(find_socket_owner("", kCaller, kServer), std::nullopt);
}

// As a real kernel showed it after close(), while the peer's end was waited for.
TEST(SocketOwner, AClosedSocketIsNotRootS) {
  constexpr std::string_view kClosed =
      "   1: 0100007F:B26E 0100007F:72D8 05 00000000:00000000 00:00000000 00000000     0        0 "
      "0\n";
  EXPECT_EQ(find_socket_owner(kClosed, kCaller, kServer), std::nullopt);
  constexpr std::string_view kHalfClosed =
      "   1: 0100007F:B26E 0100007F:72D8 05 00000000:00000000 00:00000000 00000000  1500        0 "
      "7";
  EXPECT_EQ(find_socket_owner(kHalfClosed, kCaller, kServer), 1500U);
}

TEST(SocketOwner, Ipv6AddressesAreFourWords) {
  constexpr std::string_view kSix =
      "   1: 00000000000000000000000001000000:B26E 00000000000000000000000001000000:72D8 01 "
      "00000000:00000000 00:00000000 00000000    33        0 2\n";
  EXPECT_EQ(find_socket_owner(kSix, {"::1", 0xb26e}, {"::1", 0x72d8}), 33U);
}

TEST(SocketOwner, AConnectionToOurselvesIsOurs) {
  RealNetwork network;
  const auto listener = network.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const auto address = network.local_address(listener->get());
  ASSERT_TRUE(address);
  const auto caller = network.connect(*address);
  ASSERT_TRUE(caller);
  const auto accepted = network.accept(listener->get());
  ASSERT_TRUE(accepted);
  const auto peer = peer_address(accepted->get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(*owner_of_peer(RealFiles(), *address, *peer), geteuid());
}

TEST(SocketOwner, WithoutTheTableOrTheSocketThereIsAnError) {
  testing::FakeFiles files;
  EXPECT_EQ(owner_of_peer(files, kServer, kCaller).error().code, Code::kOs);
  files.add_file("/proc/net/tcp", "no such line\n");
  const auto nobody = owner_of_peer(files, kServer, kCaller);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().text, "127.0.0.1:45678 is no socket of this machine");
}

}  // namespace
}  // namespace muster
