// Exit codes under the two names of the binary. As muster the code tells what happened
// (base/exit_code.h if no worker failed); as torchrun it is 1 for every failure and 2 for usage, as
// there (torch 1.13 to 2.14). 0 is never the code of a failure: callers and Kubernetes' Jobs take
// it for finished work.
#pragma once

#include "base/exit_code.h"
#include "base/process.h"
#include "base/result.h"
#include "launcher/options/options.h"

namespace muster::launcher {

inline constexpr int kTorchrunFailure = 1;
inline constexpr int kTorchrunUsage = 2;

/// The agent could not do its work. As muster it ends with exit_code_of() of base/exit_code.h.
[[nodiscard]] int exit_code_of_error(Personality personality, const Error& error);

/// The first failed worker decides: its exit code, or 128 + signal.
[[nodiscard]] int exit_code_of_worker(Personality personality, const ExitStatus& first_failed);

/// The agent was told by `signal` to end and there was work left: 128 + signal.
[[nodiscard]] int exit_code_of_signal(Personality personality, int signal);

}  // namespace muster::launcher
