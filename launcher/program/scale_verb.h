// `muster scale`: asks the leader of a running job for another number of nodes.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"

namespace muster::launcher {

/// Runs `muster scale ARGUMENTS` (without the verb). One line on `output`, an error on `errors`.
/// Exit codes: 0; 64 the command line; 69 nobody answers, or the leader does not, or too few nodes
/// are with it; 78 no size of this job, another job secret, run id or version.
[[nodiscard]] int run_scale_verb(const std::vector<std::string>& arguments,
                                 const Environment& environment, const Files& files, Loop& loop,
                                 Network& network, Resolver& resolver, std::FILE* output,
                                 std::FILE* errors);

}  // namespace muster::launcher
