// What the client of OpenSSH needs in a folder of ours: a link to the program, and the library by
// which it believes to have a user (mpi/ssh/ssh_account.h). Used by mpi_ssh.h and mpi_sshd.h.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/process/temporary_folder.h"
#include "base/result.h"

namespace muster::mpi {

/// Ends what is said of an image that cannot.
inline constexpr std::string_view kWithoutSsh = "--mpi-transport rsh needs no SSH";

/// Puts the link into `folder`. `search_path` as PATH; `muster`: this binary, which may be called
/// ssh there and is not meant. kExec, ENOENT: no ssh.
Status place_ssh_client(const Files& files, std::string_view search_path, const std::string& muster,
                        const TemporaryFolder& folder);

/// Puts the library into `folder`: ssh_program_environment() finds it there. kConfig: the folder is
/// mounted noexec. kOs.
Status place_ssh_account(const TemporaryFolder& folder);

/// The image's ssh-keygen. kExec, ENOENT: none.
Result<std::string> find_ssh_keygen(const Files& files, std::string_view search_path);

}  // namespace muster::mpi
