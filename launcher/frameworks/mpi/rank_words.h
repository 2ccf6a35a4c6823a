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
/// All of an mpiexec of MPICH. kUsage: it cannot be told, and why.
Result<std::vector<ProgramWord>> program_words(const Files& files, const FoundLauncher& launcher,
                                               const WorkerCommand& command);

/// How the ranks of a launcher come below a `muster rank`.
struct RankWatch {
  bool by_variable = false;                ///< mpi/launch/rank_agent.h
  std::vector<ProgramWord> programs = {};  ///< else among its words; empty = they do not
  size_t options = 0;                      ///< how many of its words are its own
  std::string problem = {};                ///< why they do not

  [[nodiscard]] bool sees_ranks() const { return by_variable || !programs.empty(); }
};
/// Of words that are ours.
[[nodiscard]] RankWatch own_rank_watch(mpi::Implementation implementation);
/// Of somebody's own words, `command.words`.
[[nodiscard]] RankWatch find_rank_watch(const Files& files, const FoundLauncher& launcher,
                                        const WorkerCommand& command, std::string_view search_path);

/// How many of `words` are a launcher's own: up to the first that is a program and no option. Its
/// options' values are seldom programs; then some of its words count as the program's.
[[nodiscard]] size_t launcher_options(const Files& files, const std::vector<std::string>& words,
                                      std::string_view search_path);

/// Puts `muster rank --` before each program that has none. `muster`: path of this binary.
/// `launcher`: of rsh::Rank, which ranks then tell (0 = none).
void put_rank_words(const std::string& muster, const std::vector<ProgramWord>& programs,
                    std::vector<std::string>& words, pid_t launcher = 0);

}  // namespace muster::launcher
