// A program of an MPI that nobody starts as ranks of one job.
#pragma once

#include <string>

#include "base/files.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// The event job.mpi_program, where `program`, a path, needs a libmpi and is started more than once
/// for a framework that is none of MPI: each would be rank 0 of 1. `workers`: of the job, as far as
/// this node knows. Reads the program if it is small, so that no start waits for it.
void warn_of_mpi_program(const Files& files, const Options& options, const std::string& program,
                         int workers);

}  // namespace muster::launcher
