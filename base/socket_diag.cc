#include "base/socket_diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/netlink.h"

namespace muster {

namespace {

constexpr uint8_t kEstablishedState = 1;  // TCP_ESTABLISHED of the kernel's net/tcp_states.h
constexpr uint8_t kListenState = 10;      // TCP_LISTEN

uint8_t family_of(const Address& address) {
  return address.host.find(':') == std::string::npos ? AF_INET : AF_INET6;
}

bool set_address(uint8_t family, const Address& address, __be32* words, __be16* port) {
  *port = htons(address.port);
  return family_of(address) == family && inet_pton(family, address.host.c_str(), words) == 1;
}

// The two ends as the kernel names a socket: "src" is its own.
bool set_ends(inet_diag_sockid& id, uint8_t family, const Address& own, const Address& peer) {
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return set_address(family, own, id.idiag_src, &id.idiag_sport) &&
         set_address(family, peer, id.idiag_dst, &id.idiag_dport);
}

bool same_ends(const inet_diag_sockid& one, const inet_diag_sockid& other) {
  return one.idiag_sport == other.idiag_sport && one.idiag_dport == other.idiag_dport &&
         std::memcmp(one.idiag_src, other.idiag_src, sizeof one.idiag_src) == 0 &&
         std::memcmp(one.idiag_dst, other.idiag_dst, sizeof one.idiag_dst) == 0;
}

}  // namespace

std::string encode_diag_request(const Address& own, const Address& peer) {
  inet_diag_req_v2 body{};
  body.sdiag_family = family_of(own);
  body.sdiag_protocol = IPPROTO_TCP;
  body.idiag_states = ~0U;
  if (!set_ends(body.id, body.sdiag_family, own, peer)) return "";
  return NetlinkMessage(SOCK_DIAG_BY_FAMILY, 0, body).bytes();
}

std::optional<uid_t> decode_diag_answer(std::span<const char> bytes, const Address& own,
                                        const Address& peer) {
  nlmsghdr header{};
  inet_diag_msg body{};
  if (bytes.size() < sizeof header + sizeof body) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool whole =
      header.nlmsg_len >= sizeof header + sizeof body && header.nlmsg_len <= bytes.size();
  if (!whole || header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&body, bytes.data() + sizeof header, sizeof body);
  inet_diag_sockid asked{};
  if (!set_ends(asked, body.idiag_family, own, peer)) return std::nullopt;
  const bool connected = body.idiag_state >= kEstablishedState && body.idiag_state != kListenState;
  if (!connected || !same_ends(body.id, asked) || body.idiag_inode == 0) return std::nullopt;
  return body.idiag_uid;
}

Result<std::optional<uid_t>> ask_socket_owner(const Address& own, const Address& peer) {
  const std::string request = encode_diag_request(own, peer);
  if (request.empty()) return Error{Code::kOs, EINVAL, "not two addresses of one family"};
  const auto netlink = NetlinkSocket::connect(NETLINK_SOCK_DIAG);
  if (!netlink) return Error(netlink.error()).with_context("NETLINK_SOCK_DIAG");
  const auto answer = netlink->ask(request);
  if (!answer) return Error(answer.error()).with_context("NETLINK_SOCK_DIAG");
  return decode_diag_answer(*answer, own, peer);
}

}  // namespace muster
