// `muster stop` and `muster restart`: tell a running job to end, or to go on with a new round.
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

/// Run `muster stop ARGUMENTS`, `muster restart ARGUMENTS` (without the verb). One line on
/// `output`, an error on `errors`. Exit codes: 0, the job was told; 64 the command line; 69 nobody
/// answers, or the leader does not, too few nodes are with it, or no round runs that could end; 78
/// another job secret, run id or version.
[[nodiscard]] int run_stop_verb(const std::vector<std::string>& arguments,
                                const Environment& environment, const Files& files, Loop& loop,
                                Network& network, Resolver& resolver, std::FILE* output,
                                std::FILE* errors);
[[nodiscard]] int run_restart_verb(const std::vector<std::string>& arguments,
                                   const Environment& environment, const Files& files, Loop& loop,
                                   Network& network, Resolver& resolver, std::FILE* output,
                                   std::FILE* errors);

}  // namespace muster::launcher
