#include "base/netlink.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace muster {

namespace {

// Messages and attributes begin at multiples of four; their lengths do not count what fills up.
size_t aligned(size_t size) { return (size + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO; }

template <typename Value>
void put_at(std::string& bytes, size_t place, Value value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
}

}  // namespace

NetlinkMessage::NetlinkMessage(uint16_t type, uint16_t flags) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  append(bytes_of(header));
}

void NetlinkMessage::append(std::string_view bytes) {
  bytes_ += bytes;
  put_at(bytes_, offsetof(nlmsghdr, nlmsg_len), static_cast<uint32_t>(bytes_.size()));
  bytes_.resize(aligned(bytes_.size()));
  MUSTER_CHECK(bytes_.size() <= kMaxNetlinkMessageBytes);
}

void NetlinkMessage::add(uint16_t type, std::string_view bytes) { end(begin(type, bytes)); }

void NetlinkMessage::add_text(uint16_t type, const std::string& text) {
  add(type, {text.c_str(), text.size() + 1});
}

size_t NetlinkMessage::begin(uint16_t type, std::string_view head) {
  const size_t place = bytes_.size();
  const nlattr attribute{static_cast<uint16_t>(sizeof attribute + head.size()), type};
  append(std::string(bytes_of(attribute)).append(head));
  return place;
}

// What was added last may be filled up; an attribute that holds others counts that.
void NetlinkMessage::end(size_t place) {
  nlattr attribute{};
  std::memcpy(&attribute, bytes_.data() + place, sizeof attribute);
  if (place + aligned(attribute.nla_len) == bytes_.size()) return;  // nothing was put into it
  put_at(bytes_, place + offsetof(nlattr, nla_len), static_cast<uint16_t>(bytes_.size() - place));
}

Status decode_netlink_ack(std::span<const char> bytes) {
  nlmsghdr header{};
  nlmsgerr answer{};
  const bool whole = bytes.size() >= sizeof header + sizeof answer;
  if (whole) std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nlmsg_type != NLMSG_ERROR)
    return Error{Code::kProtocol, EPROTO, "netlink: no acknowledgement"};
  std::memcpy(&answer, bytes.data() + sizeof header, sizeof answer);
  if (answer.error != 0) return os_error("netlink", -answer.error);
  return {};
}

Result<NetlinkSocket> NetlinkSocket::connect(int protocol) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!fd.is_open()) return os_error("socket AF_NETLINK");
  return NetlinkSocket(std::move(fd));
}

Result<std::string> NetlinkSocket::ask(std::string_view question) const {
  // Not bound and connected to nobody: to the kernel, which is port 0.
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(fd_.get(), question.data(), question.size(), 0, reinterpret_cast<sockaddr*>(&kernel),
             sizeof kernel) < 0)
    return os_error("send to netlink");
  alignas(nlmsghdr) std::array<char, kMaxNetlinkAnswerBytes> answer;
  const ssize_t count = recv(fd_.get(), answer.data(), answer.size(), 0);
  if (count < 0) return os_error("recv from netlink");
  return std::string(answer.data(), static_cast<size_t>(count));
}

Status NetlinkSocket::change(const NetlinkMessage& message, std::string_view what) const {
  const auto answer = ask(message.bytes());
  const Status done = answer ? decode_netlink_ack(*answer) : Status(answer.error());
  if (!done) return Error(done.error()).with_context(std::string(what));
  return {};
}

}  // namespace muster
