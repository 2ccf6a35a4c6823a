// Asks the kernel for one TCP socket of this machine by its two ends (NETLINK_SOCK_DIAG), which
// costs the same however many there are. Bytes and the question; what it means is socket_owner.h's.
// Source: sock_diag(7); linux/inet_diag.h.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/socket.h"

namespace muster {

/// The question for the socket bound to `own` and connected to `peer`, both numeric and of one
/// family; "" = they are not. Pure.
[[nodiscard]] std::string encode_diag_request(const Address& own, const Address& peer);

/// The owner in the answer to that question. None: no such socket, another one (the kernel answers
/// with a listener when the connection is gone), one that its process has closed (inode 0, and uid
/// 0 which is not root's), or bytes that make no sense. Pure.
[[nodiscard]] std::optional<uid_t> decode_diag_answer(std::span<const char> bytes,
                                                      const Address& own, const Address& peer);

/// Both together. Does not wait: the kernel answers before the question is sent. kOs: no netlink
/// here, or it is refused (seccomp, gVisor, a kernel without inet_diag).
Result<std::optional<uid_t>> ask_socket_owner(const Address& own, const Address& peer);

}  // namespace muster
