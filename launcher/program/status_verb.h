// `muster status`: asks a running agent about its job and prints a table, the hosts, or the JSON as
// it came.
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

/// Runs `muster status ARGUMENTS` (without the verb). The answer goes to `output`, an error is one
/// line on `errors`. Exit codes: 0; 64 the command line; 69 nobody answers, or only an agent whose
/// leader does not; 78 another job secret, run id or version, or a secret that cannot be read.
[[nodiscard]] int run_status_verb(const std::vector<std::string>& arguments,
                                  const Environment& environment, const Files& files, Loop& loop,
                                  Network& network, Resolver& resolver, std::FILE* output,
                                  std::FILE* errors);

}  // namespace muster::launcher
