// Where the files of this process's control groups are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster {

/// Folders that may hold the files of `controller` ("memory", "pids"), in the order of trust: first
/// those of version 1, as a controller lives in one hierarchy only, and where version 1 has it, the
/// unified one has not. Of both the group in /proc/self/cgroup, then the mount itself, where the
/// container sees only its own group under the host's name. kOs, kLimit: Files::read.
Result<std::vector<std::string>> control_group_folders(const Files& files,
                                                       std::string_view controller);

}  // namespace muster
