#include "base/interfaces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/socket.h"

namespace muster {
namespace {

TEST(Interfaces, ListsTheLoopbackAddress) {
  const auto addresses = interface_addresses();
  ASSERT_TRUE(addresses.has_value());
  const InterfaceAddress loopback{"lo", "127.0.0.1", true, true, false, 8};
  EXPECT_EQ(std::count(addresses->begin(), addresses->end(), loopback), 1);
  for (const InterfaceAddress& address : *addresses) {
    EXPECT_TRUE(parse_numeric_host(address.host).has_value()) << address.host;
    EXPECT_FALSE(address.interface.empty());
  }
}

TEST(Interfaces, TheHostHasAName) {
  const auto name = host_name();
  ASSERT_TRUE(name.has_value());
  EXPECT_FALSE(name->empty());
  EXPECT_EQ(name->find('\0'), std::string::npos);
}

TEST(FullHostName, IsTheOneWithDotsBesideTheOwn) {
  const std::string etc_hosts =
      "# pod-0.comment pod-0\n127.0.0.1 localhost\n10.0.0.1  pod-0.jobs.cluster pod-0 # us\n";
  EXPECT_EQ(full_host_name(etc_hosts, "pod-0"), "pod-0.jobs.cluster");
  EXPECT_EQ(full_host_name(etc_hosts, "pod"), "pod");
  EXPECT_EQ(full_host_name("", "pod-0"), "pod-0");
}

}  // namespace
}  // namespace muster
