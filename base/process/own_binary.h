// This binary, and its links: by another name it is another program (muster-rsh, muster-ssh).
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/process/temporary_folder.h"
#include "base/result.h"

namespace muster {

inline constexpr std::string_view kRshLink = "muster-rsh";  ///< rsh_verb.h
inline constexpr std::string_view kSshLink = "muster-ssh";  ///< mpi_ssh_verb.h

/// Its path as the kernel knows it. kOs.
Result<std::string> own_binary(const Files& files);

/// The path of `name` in the folder of `binary`: what the build leaves there is under the same path
/// in every pod.
[[nodiscard]] std::string beside(const std::string& binary, std::string_view name);

/// "/usr/bin/muster rsh": does what the link does on nodes that have the binary alone. "" = there
/// is no such verb, the binary is called otherwise, or launchers would split its path.
[[nodiscard]] std::string words_for(const std::string& binary, std::string_view name);

/// How others call this binary by another name.
struct OwnLink {
  std::string path;
  std::string words = {};  ///< words_for() a link that is on this node alone
};

/// The link `name` to `binary`: the one beside it, else a new one in `folder`. kOs.
Result<OwnLink> find_or_make_link(const Files& files, const std::string& binary,
                                  std::string_view name, const TemporaryFolder& folder);

}  // namespace muster
