#include "nccl/plan/gid_choice.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

Gid gid(int index, const char* text, RoceVersion version) {
  return {.index = index, .bytes = *parse_gid(text), .version = version};
}

constexpr const char* kLinkLocal = "fe80:0000:0000:0000:a288:c2ff:fe3b:506a";
constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0ac8:010a";
constexpr const char* kIpv6 = "fd00:0200:0000:0002:a288:c2ff:fe3b:506a";

RdmaPort port_of(std::vector<Gid> gids) {
  RdmaPort port;
  port.link_layer = LinkLayer::kEthernet;
  port.gids = std::move(gids);
  return port;
}

TEST(GidChoice, OfTheUsualTableItIsTheFourthEntry) {
  const RdmaPort port =
      port_of({gid(0, kLinkLocal, RoceVersion::kV1), gid(1, kLinkLocal, RoceVersion::kV2),
               gid(2, kIpv4, RoceVersion::kV1), gid(3, kIpv4, RoceVersion::kV2)});
  EXPECT_EQ(automatic_gid_index(port, false), 3);
  EXPECT_EQ(automatic_gid_index(port, true), 0);
  EXPECT_EQ(describe_gid(port, 3), "RoCE v2 10.200.1.10");
  EXPECT_EQ(describe_gid(port, 1), "link-local");
  EXPECT_EQ(describe_gid(port, 9), "empty");
}

TEST(GidChoice, EntriesOfOtherNamespacesDoNotCount) {
  const RdmaPort port =
      port_of({gid(2, kIpv4, RoceVersion::kUnreadable), gid(3, kIpv4, RoceVersion::kUnreadable),
               gid(10, kIpv4, RoceVersion::kV1), gid(11, kIpv4, RoceVersion::kV2)});
  EXPECT_EQ(automatic_gid_index(port, false), 11);
  EXPECT_EQ(describe_gid(port, 3), "in another network namespace");
}

TEST(GidChoice, WithIpv6AloneIpv4LeadsNowhere) {
  const RdmaPort port =
      port_of({gid(0, kLinkLocal, RoceVersion::kV1), gid(1, kLinkLocal, RoceVersion::kV2),
               gid(4, kIpv6, RoceVersion::kV1), gid(5, kIpv6, RoceVersion::kV2)});
  EXPECT_EQ(automatic_gid_index(port, false), 0);
  EXPECT_EQ(automatic_gid_index(port, true), 5);
  EXPECT_FALSE(has_usable_ipv4(port));
  EXPECT_TRUE(has_usable_gid(port));
}

TEST(GidChoice, LinkLocalIsNoAddress) {
  EXPECT_FALSE(has_usable_gid(port_of({gid(0, kLinkLocal, RoceVersion::kV2)})));
  EXPECT_FALSE(has_usable_gid(port_of({})));
}

}  // namespace
}  // namespace muster::nccl
