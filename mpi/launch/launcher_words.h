// The words of somebody's own mpirun or mpiexec: where its options end and the programs that
// it starts begin. Pure. Only what is known for certain is taken for read: the options are those of
// the tables in the source, and a launcher that has others is left alone. Used by
// launcher/frameworks/mpi/mpi_launcher to put `muster rank` before each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

/// More options of one program than anybody writes; the program's own words do not count.
inline constexpr size_t kMaxLauncherWords = 1024;

/// The indices in `words` (words[0] = the launcher itself) of the programs whose ranks it starts;
/// "mpirun -np 4 ./a.out -x" = 3, "mpirun -n 1 ./a : -n 3 ./b" = 3, 7. At least one. O(words).
/// kUsage, for a sentence ("cannot be told apart, because ..."): an option that is not in the table
/// or that makes something else of the program (a debugger, a search path, a file that says it), no
/// program, nothing behind a ":", `java`, whose words Open MPI changes.
/// Sources: Open MPI 4.1.4 orte/mca/schizo/ompi/schizo_ompi.c, opal/util/cmd_line.c,
/// orte/orted/orted_submit.c (":"); PRRTE 3.0.14 src/mca/schizo/ompi/schizo_ompi.c; MPICH 5.0.1
/// src/pm/hydra/mpiexec/options.c; Intel MPI 2021.18: each option tried.
Result<std::vector<size_t>> find_program_words(const Launcher& launcher,
                                               const std::vector<std::string>& words);

}  // namespace muster::mpi
