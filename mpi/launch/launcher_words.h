// The words of an mpiexec of MPICH that somebody else calls: where its options end and the programs
// that it starts begin. Pure. Only what is known for certain is taken for read: the options are
// those of the tables in the source, and a launcher that has others is left alone. Other launchers
// take `muster rank` from a variable (rank_agent.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::mpi {

/// More options of one program than anybody writes; the program's own words do not count.
inline constexpr size_t kMaxLauncherWords = 1024;

/// The indices in `words` (words[0] = the launcher itself) of the programs whose ranks it starts;
/// "mpiexec -n 4 ./a.out -x" = 3, "mpiexec -n 1 ./a : -n 3 ./b" = 3, 7. At least one. O(words).
/// kUsage, for a sentence ("cannot be told apart, because ..."): an option that is not in the table
/// or that makes something else of the program (a debugger, a file that says it), no program,
/// nothing behind a ":". Source: MPICH 5.0.1 src/pm/hydra/mpiexec/options.c.
Result<std::vector<size_t>> find_program_words(const std::vector<std::string>& words);

}  // namespace muster::mpi
