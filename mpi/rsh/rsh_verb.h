// `muster rsh HOST WORD...`: the remote shell that mpirun calls in place of ssh. Also what the
// binary does when it is called ssh, rsh, muster-rsh or kubexec.sh.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/process/init.h"

namespace muster::mpi {

/// Whether `called_as` (argv[0]) is one of the names above, with or without a path.
[[nodiscard]] bool is_rsh_name(std::string_view called_as);

/// Runs the call and returns its exit code: that of the command, 128 + signal, or 255 and one line
/// on `errors`. `words` follow the name or the verb.
int run_rsh_verb(const std::vector<std::string>& words, const Environment& environment,
                 const ProcessSetup& setup, std::FILE* output, std::FILE* errors);

}  // namespace muster::mpi
