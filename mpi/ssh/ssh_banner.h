// The first words of an SSH server, by which one can tell without a login that it is there. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster::mpi {

/// Before its version a server may send lines of its own (RFC 4253, 4.2). This is the limit.
inline constexpr size_t kMaxSshBannerBytes = 8192;

/// Whether "SSH-2.0-..." is among these words. `bytes`: all that came so far. None: more bytes are
/// needed. What OpenSSH says to a caller that it has locked out is such a line of its own, and then
/// it hangs up.
[[nodiscard]] std::optional<bool> is_ssh_banner(std::string_view bytes);

}  // namespace muster::mpi
