// `muster-ssh`: what an MPI launcher calls as its remote shell with --mpi-transport ssh and sshd.
// One word, because Hydra and Intel MPI take no more; it becomes the image's own ssh, with the
// configuration of the round. If a `muster tend` is above the launcher, it stays above ssh instead
// and reports how the connection ends (ssh_reports.h).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace muster::mpi {

/// The folder of this node's SSH files: mpi/ssh/ssh_config.h and these two.
inline constexpr std::string_view kSshFolderVariable = "MUSTER_SSH";
inline constexpr std::string_view kSshClientLink = "ssh";             ///< to the image's ssh
inline constexpr std::string_view kSshAccountLibrary = "account.so";  ///< mpi/ssh/ssh_account.h

/// Called by a name that means it.
[[nodiscard]] bool is_ssh_name(std::string_view called_as);

/// Environment of the image's ssh, ssh-keygen and sshd: `outer`, with the library that knows their
/// user if it is in `folder`.
[[nodiscard]] Environment ssh_program_environment(Environment outer, const std::string& folder);

/// `words`: options, host and command as ssh takes them. Becomes ssh, or returns its exit code, 128
/// + signal where one ended it. When it cannot: 255, and a line on `errors`.
int run_ssh_verb(const std::vector<std::string>& words, const Environment& environment,
                 std::FILE* errors);

}  // namespace muster::mpi
