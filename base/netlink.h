// Netlink: how a process asks the kernel about sockets, links and routes, and changes them. Bytes
// of messages, and one question at a time; what the questions are is their askers' (socket_diag.h).
// Source: netlink(7), rtnetlink(7); linux/netlink.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

/// Room for an answer: its message and the attributes that we did not ask for.
inline constexpr size_t kMaxNetlinkAnswerBytes = 8192;
/// More than the longest message that is made here, some hundred bytes; attributes count in 16
/// bits.
inline constexpr size_t kMaxNetlinkMessageBytes = 4096;

/// One message under construction: header, a fixed body, attributes. Pure. A message that would be
/// longer than kMaxNetlinkMessageBytes is a bug.
class NetlinkMessage {
 public:
  /// `type` and `flags` as in nlmsghdr; NLM_F_REQUEST is added. `body`: the kernel's own struct.
  template <typename Body>
  NetlinkMessage(uint16_t type, uint16_t flags, const Body& body) : NetlinkMessage(type, flags) {
    append(bytes_of(body));
  }
  void add(uint16_t type, std::string_view bytes);
  /// With the '\0' that the kernel wants behind names.
  void add_text(uint16_t type, const std::string& text);
  template <typename Number>
  void add_number(uint16_t type, Number number) {
    add(type, bytes_of(number));
  }
  /// Attributes until the matching end() are inside this one. `head`: what stands before them.
  [[nodiscard]] size_t begin(uint16_t type, std::string_view head = {});
  void end(size_t place);
  /// What to send.
  [[nodiscard]] std::string bytes() const { return bytes_; }

  template <typename Value>
  static std::string_view bytes_of(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }

 private:
  NetlinkMessage(uint16_t type, uint16_t flags);
  void append(std::string_view bytes);

  std::string bytes_;
};

/// What the kernel says to a change: success, or kOs with its errno. kProtocol: no such answer.
/// Pure.
[[nodiscard]] Status decode_netlink_ack(std::span<const char> bytes);

/// Does not wait: the kernel answers before a question is sent. Belongs to the network namespace in
/// which it was opened, wherever this process is later.
class NetlinkSocket {
 public:
  /// `protocol`: NETLINK_ROUTE, NETLINK_SOCK_DIAG, ... kOs: none here, or it is refused (seccomp,
  /// gVisor).
  static Result<NetlinkSocket> connect(int protocol);
  /// The first message of the answer, at most kMaxNetlinkAnswerBytes. kOs.
  [[nodiscard]] Result<std::string> ask(std::string_view question) const;
  /// Sends a change that asks for its acknowledgement (NLM_F_ACK). kOs with the kernel's errno and
  /// `what` it was.
  [[nodiscard]] Status change(const NetlinkMessage& message, std::string_view what) const;

 private:
  explicit NetlinkSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace muster
