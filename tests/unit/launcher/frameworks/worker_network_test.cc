#include "launcher/frameworks/worker_network.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

InterfaceAddress address(const char* interface, const char* host, bool is_up = true) {
  const bool is_loopback = std::string_view(interface) == "lo";
  return {interface, host, is_up, is_loopback, false, 24};
}

TEST(WorkerNetwork, TheInterfaceOfTheAddressIsTold) {
  const std::vector<InterfaceAddress> addresses = {
      address("lo", "127.0.0.1"), address("docker0", "172.17.0.1"), address("eth0", "10.0.0.5"),
      address("eth0", "fd00::5")};
  EXPECT_EQ(interface_of(addresses, "10.0.0.5"), "eth0");
  EXPECT_EQ(interface_of(addresses, "10.0.0.6"), "");
}

// A library that is told the name takes the first address, which may be another network's.
TEST(WorkerNetwork, AnAddressThatIsNotTheFirstOfItsInterfaceIsNot) {
  const std::vector<InterfaceAddress> addresses = {address("eth0", "203.0.113.5"),
                                                   address("eth0", "10.0.0.5")};
  EXPECT_EQ(interface_of(addresses, "10.0.0.5"), "");
}

// Where a machine's address lies on lo the name would lead to 127.0.0.1.
TEST(WorkerNetwork, NorLoopbackNorWhatIsDown) {
  EXPECT_EQ(interface_of({address("lo", "10.0.0.5")}, "10.0.0.5"), "");
  EXPECT_EQ(interface_of({address("lo", "127.0.0.1")}, "127.0.0.1"), "");
  EXPECT_EQ(interface_of({address("eth0", "10.0.0.5", false)}, "10.0.0.5"), "");
}

}  // namespace
}  // namespace muster::launcher
