// Which MPI a program was built for, told by the libraries that it needs. Its bytes may be
// anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

/// More than most programs have; what is longer is not looked at.
inline constexpr size_t kMaxProgramBytes = 64U << 20;

/// The DT_NEEDED names of an ELF program of 64 bits and this machine's byte order (gABI, chapter
/// 5). Empty: another file, a program without any, or one that is cut off or damaged.
[[nodiscard]] std::vector<std::string> needed_libraries(std::string_view image);

/// Whose libmpi is among them; kMpich stands for all that share its ABI, as Intel MPI does. None:
/// nobody's, as of an interpreter that loads it later.
[[nodiscard]] std::optional<Implementation> implementation_needed(
    const std::vector<std::string>& libraries);

/// The same of the program at `path`. None also: it cannot be read, or is larger than
/// `limit_bytes`. It is read whole: some milliseconds for a Python.
[[nodiscard]] std::optional<Implementation> built_for(const Files& files, const std::string& path,
                                                      size_t limit_bytes = kMaxProgramBytes);

/// Whether a program of `built_for`, as above, runs as ranks of `launcher`.
[[nodiscard]] bool runs_under(Implementation built_for, Implementation launcher);

}  // namespace muster::mpi
