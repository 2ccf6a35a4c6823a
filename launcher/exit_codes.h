// Exit codes: the one place that says with which code the agent ends. As muster the code tells what
// happened (sysexits.h where nobody's worker failed); as torchrun it is 1 for every failure and 2
// for usage, as there (torch 1.13 to 2.14). 0 is never the code of a failure: callers and
// Kubernetes' Jobs take it for finished work.
#pragma once

#include <cstdio>
#include <string_view>

#include "base/exit_code.h"
#include "base/process.h"
#include "base/result.h"
#include "launcher/options.h"

namespace muster::launcher {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitNotExecutable = 126;  ///< POSIX shells: found, but cannot be executed
inline constexpr int kExitNotFound = 127;       ///< POSIX shells: no such program
inline constexpr int kTorchrunFailure = 1;
inline constexpr int kTorchrunUsage = 2;

/// The agent could not do its work. As muster, by the error's code: 64 for kUsage, 78 for kConfig
/// and kLimit, 69 for kPeer, kTimeout and kProtocol, 70 for kInternal. kOs is 71, or 75 when the
/// shortage may pass (EAGAIN, ENOMEM, ENFILE); kExec is start_failure_code().
[[nodiscard]] int exit_code_of_error(Personality personality, const Error& error);

/// The first failed worker decides: its exit code, or 128 + signal.
[[nodiscard]] int exit_code_of_worker(Personality personality, const ExitStatus& first_failed);

/// The agent was told by `signal` to end and there was work left: 128 + signal.
[[nodiscard]] int exit_code_of_signal(Personality personality, int signal);

/// What a shell would answer for a worker that could not be started: 127 not found, 126 not
/// executable, else 75 or 71 as above. Goes into ExitStatus::code of that worker's record.
[[nodiscard]] int start_failure_code(int os_errno);

/// "WHO: WHAT" on `errors`; returns `exit_code`. For verbs that have no log.
int complain(std::FILE* errors, std::string_view who, std::string_view what, int exit_code);

}  // namespace muster::launcher
