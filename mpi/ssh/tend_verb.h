// The inner verb `muster tend PROGRAM ARGV…`: the process above an MPI launcher that calls nodes
// without an agent (launch_tender.h).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/process/init.h"

namespace muster::mpi {

inline constexpr std::string_view kTendVerb = "tend";
/// In the folder of the SSH files: one line that says why the exit code is not the launcher's own,
/// for the agent. It is there only if that is so.
inline constexpr std::string_view kTendReasonFile = "reason";

/// `words` follow the verb. Returns the launcher's exit code, 128 + signal if a signal ended it, or
/// what LaunchTender says in its place. 126 or 127: it cannot be started. 64: words that mean
/// nothing.
int run_tend_verb(const std::vector<std::string>& words, const Environment& environment,
                  const ProcessSetup& setup, std::FILE* errors);

}  // namespace muster::mpi
