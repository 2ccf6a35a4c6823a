// `muster store`: the TCPStore-compatible store alone, for scripts that bring their own ranks and
// for trying things out. No workers, no rendezvous.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"

namespace muster::launcher {

/// Runs `muster store ARGUMENTS` (without the verb) until SIGTERM, SIGINT or SIGHUP arrives at
/// `signal_fd` (base/signals.h; borrowed), then returns 0. Prints one line on `output` once clients
/// can connect: "listening on 127.0.0.1:29400"; an error is one line on `errors`. Flags: --port N
/// (29400; 0 = the kernel chooses), --host ADDR (numeric; default 127.0.0.1, because the protocol
/// has no authentication; "::" = every interface), --help. Exit codes: 0, 64 (command line), 71
/// (cannot listen: address taken, not ours, not permitted).
[[nodiscard]] int run_store_verb(const std::vector<std::string>& arguments, Loop& loop,
                                 Network& network, int signal_fd, std::FILE* output,
                                 std::FILE* errors);

}  // namespace muster::launcher
