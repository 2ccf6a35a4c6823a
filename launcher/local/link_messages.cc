#include "launcher/local/link_messages.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include "base/check.h"

namespace muster::launcher {

namespace {

constexpr uint16_t kChange = NLM_F_ACK;
constexpr uint16_t kAdd = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr uint8_t kHostBits = 32;

in_addr address_of(const std::string& host) {
  in_addr address{};
  MUSTER_CHECK(inet_pton(AF_INET, host.c_str(), &address) == 1);  // we made it
  return address;
}

ifinfomsg link_body(int index, unsigned flags) {
  ifinfomsg body{};
  body.ifi_index = index;
  body.ifi_flags = body.ifi_change = flags;
  return body;
}

rtmsg route_body(unsigned char table, unsigned char type, uint8_t bits) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_dst_len = bits;
  body.rtm_table = table;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_type = type;
  return body;
}

}  // namespace

NetlinkMessage make_link(const LinkEnd& end, const LinkEnd& peer, int peer_space) {
  NetlinkMessage message(RTM_NEWLINK, kAdd, link_body(end.index, 0));
  message.add_text(IFLA_IFNAME, end.name);
  const size_t info = message.begin(IFLA_LINKINFO);
  message.add_text(IFLA_INFO_KIND, "veth");
  const size_t data = message.begin(IFLA_INFO_DATA);
  const size_t other =
      message.begin(VETH_INFO_PEER, NetlinkMessage::bytes_of(link_body(peer.index, 0)));
  message.add_text(IFLA_IFNAME, peer.name);
  message.add_number(IFLA_NET_NS_FD, static_cast<uint32_t>(peer_space));
  message.end(other);
  message.end(data);
  message.end(info);
  return message;
}

NetlinkMessage raise_link(int index) { return {RTM_NEWLINK, kChange, link_body(index, IFF_UP)}; }

NetlinkMessage open_link(int index) {
  NetlinkMessage message = raise_link(index);
  const size_t families = message.begin(IFLA_AF_SPEC);
  const size_t family = message.begin(AF_INET);
  const size_t settings = message.begin(IFLA_INET_CONF);
  message.add_number(IPV4_DEVCONF_ROUTE_LOCALNET, uint32_t{1});
  message.add_number(IPV4_DEVCONF_FORWARDING, uint32_t{1});
  message.end(settings);
  message.end(family);
  message.end(families);
  return message;
}

NetlinkMessage add_address(int index, const std::string& host) {
  ifaddrmsg body{};
  body.ifa_family = AF_INET;
  body.ifa_prefixlen = kHostBits;
  body.ifa_scope = RT_SCOPE_UNIVERSE;
  body.ifa_index = static_cast<unsigned>(index);
  NetlinkMessage message(RTM_NEWADDR, kAdd, body);
  message.add_number(IFA_LOCAL, address_of(host));
  message.add_number(IFA_ADDRESS, address_of(host));
  return message;
}

NetlinkMessage add_route(const LinkRoute& route) {
  rtmsg body = route_body(route.local ? RT_TABLE_LOCAL : RT_TABLE_MAIN, RTN_UNICAST,
                          static_cast<uint8_t>(route.bits));
  body.rtm_scope = route.gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
  NetlinkMessage message(RTM_NEWROUTE, kAdd, body);
  message.add_number(RTA_DST, address_of(route.network));
  message.add_number(RTA_OIF, static_cast<uint32_t>(route.link));
  message.add_number(RTA_PREFSRC, address_of(route.from));
  if (route.gateway) message.add_number(RTA_GATEWAY, address_of(*route.gateway));
  return message;
}

NetlinkMessage add_table(const std::string& link, uint32_t table) {
  fib_rule_hdr body{};
  body.family = AF_INET;
  body.action = FR_ACT_TO_TBL;
  NetlinkMessage message(RTM_NEWRULE, kAdd, body);
  message.add_text(FRA_IIFNAME, link);
  message.add_number(FRA_TABLE, table);
  message.add_number(FRA_PRIORITY, table);
  return message;
}

NetlinkMessage set_blackhole(uint32_t table, const std::string& host, bool on) {
  const rtmsg body = route_body(RT_TABLE_UNSPEC, RTN_BLACKHOLE, kHostBits);
  const uint16_t put = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  NetlinkMessage message(on ? RTM_NEWROUTE : RTM_DELROUTE, on ? put : kChange, body);
  message.add_number(RTA_DST, address_of(host));
  message.add_number(RTA_TABLE, table);
  return message;
}

}  // namespace muster::launcher
