#include "nccl/machine/network_interfaces.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

void add_interface(muster::testing::FakeFiles& files, const std::string& name, int index) {
  const std::string folder = "/sys/class/net/" + name + "/";
  files.add_file(folder + "ifindex", std::to_string(index) + "\n");
  files.add_file(folder + "operstate", "up\n");
  files.add_file(folder + "flags", "0x1003\n");
  files.add_file(folder + "type", "1\n");
}

TEST(NetworkInterfaces, AreInTheOrderOfTheKernel) {
  muster::testing::FakeFiles files;
  add_interface(files, "eth0", 7);
  add_interface(files, "wlan0", 3);
  files.add_file("/sys/class/net/bonding_masters", "");
  const auto interfaces = read_network_interfaces(files);
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, "wlan0");
  EXPECT_TRUE(interfaces[0].is_running);
}

TEST(NetworkInterfaces, TheDefaultRouteWithTheLowestMetricCounts) {
  muster::testing::FakeFiles files;
  add_interface(files, "eth0", 2);
  add_interface(files, "wlan0", 3);
  files.add_file("/proc/net/route",
                 "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                 "eth0 00000000 0100000A 0003 0 0 600 00000000 0 0 0\n"
                 "wlan0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n");
  EXPECT_FALSE(find_interface(read_network_interfaces(files), "eth0")->has_default_route);
  EXPECT_TRUE(find_interface(read_network_interfaces(files), "wlan0")->has_default_route);
}

TEST(NetworkInterfaces, WithoutIpv4TheRouteOfIpv6Counts) {
  const std::string any(32, '0');
  const std::string rest = " " + any + " 00 fe800000000000000000000000000001 ";
  const std::string routes = any + " 00" + rest + "00000400 00000001 00000000 00000003 eth1\n" +
                             any + " 00" + rest + "00000100 00000001 00000000 00000003 eth0\n" +
                             any + " 00" + rest + "ffffffff 00000001 00000000 00200200 lo\n";
  EXPECT_EQ(parse_ipv6_default(routes), "eth0");
  EXPECT_EQ(parse_ipv6_default("nonsense\n"), "");
  muster::testing::FakeFiles files;
  add_interface(files, "eth0", 2);
  files.add_file("/proc/net/ipv6_route", routes);
  EXPECT_TRUE(read_network_interfaces(files)[0].has_default_route);
}

TEST(NetworkInterfaces, RecordedAddressesGoToTheNarrowestNetwork) {
  muster::testing::FakeFiles files;
  add_interface(files, "eth0", 2);
  add_interface(files, "eth1", 3);
  files.add_file("/proc/net/route",
                 "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                 "eth0 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n"
                 "eth1 0001000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n");
  files.add_file("/proc/net/fib_trie",
                 "Local:\n  |-- 10.0.1.5\n     /32 host LOCAL\n  |-- 10.7.0.1\n"
                 "     /32 host LOCAL\n  |-- 10.255.255.255\n     /32 link BROADCAST\n");
  files.add_file("/proc/net/if_inet6",
                 "fd000000000000000000000000000005 02 40 00 80 eth0\nnonsense\n");
  const auto interfaces = with_recorded_addresses(read_network_interfaces(files), files);
  EXPECT_EQ(interfaces[0].addresses, (std::vector<std::string>{"10.7.0.1", "fd00::5"}));
  EXPECT_EQ(interfaces[1].addresses, (std::vector<std::string>{"10.0.1.5"}));
}

TEST(NetworkInterfaces, KindsAreToldByTheirFiles) {
  muster::testing::FakeFiles files;
  for (const char* name : {"lo", "docker0", "bond0", "tun0", "ib0", "eth0", "veth1", "eth0.5"})
    add_interface(files, name, 1);
  files.add_directory("/sys/class/net/docker0/bridge");
  files.add_directory("/sys/class/net/bond0/bonding");
  files.add_file("/sys/class/net/tun0/tun_flags", "0x1001\n");
  files.add_file("/sys/class/net/ib0/type", "32\n");
  files.add_file("/sys/class/net/eth0.5/uevent", "DEVTYPE=vlan\nINTERFACE=eth0.5\n");
  files.add_link("/sys/class/net/eth0/device", "../../../0000:03:00.0");
  files.add_directory("/sys/0000:03:00.0");
  const auto interfaces = read_network_interfaces(files);
  const auto kind = [&interfaces](const char* name) {
    return to_string(find_interface(interfaces, name)->kind);
  };
  EXPECT_EQ(kind("lo"), "loopback");
  EXPECT_EQ(kind("docker0"), "bridge");
  EXPECT_EQ(kind("bond0"), "bond");
  EXPECT_EQ(kind("tun0"), "tunnel");
  EXPECT_EQ(kind("ib0"), "IP over InfiniBand");
  EXPECT_EQ(kind("veth1"), "virtual");
  EXPECT_EQ(kind("eth0.5"), "vlan");
}

}  // namespace
}  // namespace muster::nccl
