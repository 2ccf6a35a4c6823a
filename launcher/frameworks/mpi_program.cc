#include "launcher/frameworks/mpi_program.h"

#include "base/log.h"
#include "mpi/launch/program_libraries.h"

namespace muster::launcher {

namespace {

// A Python of some megabytes would hold up every start; programs of MPI are small, their libraries
// are not.
constexpr size_t kMostBytes = 256 << 10;

}  // namespace

void warn_of_mpi_program(const Files& files, const Options& options, const std::string& program,
                         int workers) {
  if (options.framework.framework != Framework::kPytorch) return;
  if (options.entry != EntryKind::kProgram || workers < 2) return;
  const auto built = mpi::built_for(files, program, kMostBytes);
  if (!built) return;
  log::warning("job.mpi_program",
               {{"program", options.program},
                {"mpi", mpi::to_string(*built)},
                {"action",
                 "none: each worker is rank 0 of 1. --framework mpi makes one job of them, "
                 "--framework plain says that they are meant to be alone"}});
}

}  // namespace muster::launcher
