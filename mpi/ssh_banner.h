// The first words of an SSH server, by which one can tell that it is there without logging in, and
// how often to look: OpenSSH 9.8 and later locks out who connects often and never logs in. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/clock.h"

namespace muster::mpi {

/// Before its version a server may send lines of its own (RFC 4253, 4.2); no more of them.
inline constexpr size_t kMaxSshBannerBytes = 8192;

enum class SshBanner {
  kUndecided,  ///< more bytes are needed
  kSsh,        ///< "SSH-2.0-...": it takes logins
  kLockedOut,  ///< OpenSSH takes none from here now (PerSourcePenalties, MaxStartups)
  kOther,      ///< it is something else
};
/// `bytes`: all that came so far. Sources: OpenSSH 9.2p1 and 10.5p1, sshd.c.
[[nodiscard]] SshBanner classify_ssh_banner(std::string_view bytes);

/// Between two looks at one server. `failures` >= 1 in a row; `jitter` 0..1 spreads those who
/// began together. At least a second, which a look costs in OpenSSH's count of penalties (1 s each,
/// 15 s lock out); after kLockedOut long enough for it to be forgiven.
[[nodiscard]] Duration ssh_retry_pause(SshBanner last, int failures, double jitter);

}  // namespace muster::mpi
