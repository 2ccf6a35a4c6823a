// `muster rank --` in the words of a launcher that the user calls himself: before which of them it
// belongs, so that each rank is watched. Looks at files, changes none.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "launcher/workers/worker_command.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

inline constexpr std::string_view kRankVerb = "rank";

struct FoundLauncher {
  std::string path;  ///< for exec, absolute
  mpi::Launcher kind;
};

/// It begins with "#!".
[[nodiscard]] bool is_script(const Files& files, const std::string& path);

/// Where among a launcher's words the program of some ranks begins.
struct ProgramWord {
  size_t at = 0;
  bool watched = false;  ///< the user has put `muster rank --` there already
  friend bool operator==(const ProgramWord&, const ProgramWord&) = default;
};
/// All of them. kUsage: it cannot be told, and why.
Result<std::vector<ProgramWord>> program_words(const Files& files, const FoundLauncher& launcher,
                                               const WorkerCommand& command);
/// Puts `muster rank --` before each program that has none. `muster`: path of this binary.
/// `launcher`: of rsh::Rank, which ranks then tell (0 = none).
void put_rank_words(const std::string& muster, const std::vector<ProgramWord>& programs,
                    std::vector<std::string>& words, pid_t launcher = 0);

/// Open MPI takes a program that is not on PATH from the working directory, as nothing else does:
/// names such `programs` in `words` so that `muster rank` finds them.
void name_for_rank(const Files& files, const FoundLauncher& launcher,
                   const std::vector<ProgramWord>& programs, std::vector<std::string>& words,
                   std::string_view search_path);

}  // namespace muster::launcher
