// Exit codes with an agreed meaning: those of sysexits.h (BSD) that we use, what a shell says of a
// program that it cannot start, and how it tells of a signal. Codes that only one program gives are
// not in it, nor those of torchrun (launcher/report/exit_codes.h).
#pragma once

#include <cstdio>
#include <string_view>

#include "base/result.h"

namespace muster {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 64;        ///< EX_USAGE: the command line is wrong
inline constexpr int kExitUnavailable = 69;  ///< EX_UNAVAILABLE: a peer or service cannot be used
inline constexpr int kExitInternal = 70;     ///< EX_SOFTWARE: our bug
inline constexpr int kExitOs = 71;           ///< EX_OSERR: a system call failed
inline constexpr int kExitRetry = 75;        ///< EX_TEMPFAIL: a passing shortage, try again
inline constexpr int kExitConfig = 78;       ///< EX_CONFIG: environment or file is wrong
inline constexpr int kExitNotExecutable = 126;  ///< POSIX shells: found, but cannot be executed
inline constexpr int kExitNotFound = 127;       ///< POSIX shells: no such program
/// POSIX shells: a child that signal n ended gives this + n.
inline constexpr int kSignalExitBase = 128;

/// The process could not do its work: 64 for kUsage, 78 for kConfig and kLimit, 69 for kPeer,
/// kTimeout and kProtocol, 70 for kInternal. kOs is 71, or 75 if the shortage may pass (EAGAIN,
/// ENOMEM, ENFILE); kExec is start_failure_code().
[[nodiscard]] int exit_code_of(const Error& error);

/// What a shell would answer for a program that could not be started: 127 not found, 126 not
/// executable, else 75 or 71 as above. Goes into ExitStatus::code of a worker's record.
[[nodiscard]] int start_failure_code(int os_errno);

/// "WHO: WHAT" on `errors`, as one_line() of base/text.h; returns `exit_code`. For verbs that have
/// no log.
int complain(std::FILE* errors, std::string_view who, std::string_view what, int exit_code);

}  // namespace muster
