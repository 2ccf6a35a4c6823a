#include "launcher/local/link_messages.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include <cstring>
#include <map>
#include <string_view>

namespace muster::launcher {
namespace {

template <typename Value>
Value value_of(std::string_view bytes) {
  Value value{};
  EXPECT_GE(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

// As the kernel reads them: type -> bytes.
std::map<uint16_t, std::string> attributes_of(std::string_view bytes) {
  std::map<uint16_t, std::string> found;
  while (bytes.size() >= sizeof(nlattr)) {
    const auto attribute = value_of<nlattr>(bytes);
    EXPECT_GE(attribute.nla_len, sizeof attribute);
    EXPECT_LE(attribute.nla_len, bytes.size());
    found[attribute.nla_type] =
        bytes.substr(sizeof attribute, attribute.nla_len - sizeof attribute);
    bytes.remove_prefix(std::min<size_t>(NLMSG_ALIGN(attribute.nla_len), bytes.size()));
  }
  return found;
}

template <typename Body>
struct Read {
  nlmsghdr header;
  Body body;
  std::map<uint16_t, std::string> attributes;
};

template <typename Body>
Read<Body> read(const NetlinkMessage& message) {
  const std::string bytes = message.bytes();
  const std::string_view view = bytes;
  return {value_of<nlmsghdr>(view), value_of<Body>(view.substr(sizeof(nlmsghdr))),
          attributes_of(view.substr(sizeof(nlmsghdr) + NLMSG_ALIGN(sizeof(Body))))};
}

std::string host_in(const std::string& bytes) {
  char text[INET_ADDRSTRLEN] = "";
  EXPECT_EQ(bytes.size(), 4U);
  inet_ntop(AF_INET, bytes.data(), text, sizeof text);
  return text;
}

TEST(LinkMessages, APairOfLinksHasOneEndInEachNamespace) {
  const auto made = read<ifinfomsg>(make_link({"v3", 4}, {"eth0", 2}, 17));
  EXPECT_EQ(made.header.nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(made.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  EXPECT_EQ(made.body.ifi_index, 4);
  EXPECT_STREQ(made.attributes.at(IFLA_IFNAME).c_str(), "v3");
  const auto info = attributes_of(made.attributes.at(IFLA_LINKINFO));
  EXPECT_STREQ(info.at(IFLA_INFO_KIND).c_str(), "veth");
  const std::string peer = attributes_of(info.at(IFLA_INFO_DATA)).at(VETH_INFO_PEER);
  EXPECT_EQ(value_of<ifinfomsg>(peer).ifi_index, 2);
  const auto words = attributes_of(std::string_view(peer).substr(sizeof(ifinfomsg)));
  EXPECT_STREQ(words.at(IFLA_IFNAME).c_str(), "eth0");
  EXPECT_EQ(value_of<uint32_t>(words.at(IFLA_NET_NS_FD)), 17U);
}

TEST(LinkMessages, AnOpenLinkLetsLoopbackAddressesThrough) {
  const auto made = read<ifinfomsg>(open_link(2));
  EXPECT_EQ(made.body.ifi_flags, static_cast<unsigned>(IFF_UP));
  const auto family = attributes_of(attributes_of(made.attributes.at(IFLA_AF_SPEC)).at(AF_INET));
  const auto settings = attributes_of(family.at(IFLA_INET_CONF));
  EXPECT_EQ(value_of<uint32_t>(settings.at(IPV4_DEVCONF_ROUTE_LOCALNET)), 1U);
  EXPECT_EQ(value_of<uint32_t>(settings.at(IPV4_DEVCONF_FORWARDING)), 1U);
}

TEST(LinkMessages, ARouteSaysWhereToAndFromWhom) {
  const auto near =
      read<rtmsg>(add_route({.network = "127.0.1.3", .link = 4, .from = "127.0.1.254"}));
  EXPECT_EQ(near.header.nlmsg_type, RTM_NEWROUTE);
  EXPECT_EQ(near.body.rtm_dst_len, 32);
  EXPECT_EQ(near.body.rtm_table, RT_TABLE_MAIN);
  EXPECT_EQ(near.body.rtm_scope, RT_SCOPE_LINK);
  EXPECT_EQ(host_in(near.attributes.at(RTA_DST)), "127.0.1.3");
  EXPECT_EQ(host_in(near.attributes.at(RTA_PREFSRC)), "127.0.1.254");
  EXPECT_EQ(value_of<uint32_t>(near.attributes.at(RTA_OIF)), 4U);
  const auto far = read<rtmsg>(add_route({.network = "127.0.1.0",
                                          .bits = 24,
                                          .link = 2,
                                          .gateway = "127.0.1.254",
                                          .from = "127.0.1.3",
                                          .local = true}));
  EXPECT_EQ(far.body.rtm_dst_len, 24);
  EXPECT_EQ(far.body.rtm_table, RT_TABLE_LOCAL);
  EXPECT_EQ(far.body.rtm_scope, RT_SCOPE_UNIVERSE);
  EXPECT_EQ(host_in(far.attributes.at(RTA_GATEWAY)), "127.0.1.254");
}

TEST(LinkMessages, ABlackholeStandsInTheTableOfOneLink) {
  const auto rule = read<fib_rule_hdr>(add_table("v3", 1003));
  EXPECT_EQ(rule.header.nlmsg_type, RTM_NEWRULE);
  EXPECT_EQ(rule.body.action, FR_ACT_TO_TBL);
  EXPECT_STREQ(rule.attributes.at(FRA_IIFNAME).c_str(), "v3");
  EXPECT_EQ(value_of<uint32_t>(rule.attributes.at(FRA_TABLE)), 1003U);
  for (const bool on : {true, false}) {
    const auto hole = read<rtmsg>(set_blackhole(1003, "127.0.1.1", on));
    EXPECT_EQ(hole.header.nlmsg_type, on ? RTM_NEWROUTE : RTM_DELROUTE);
    EXPECT_EQ(hole.body.rtm_type, RTN_BLACKHOLE);
    EXPECT_EQ(host_in(hole.attributes.at(RTA_DST)), "127.0.1.1");
    EXPECT_EQ(value_of<uint32_t>(hole.attributes.at(RTA_TABLE)), 1003U);
  }
}

}  // namespace
}  // namespace muster::launcher
