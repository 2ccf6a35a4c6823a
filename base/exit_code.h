// Exit codes with an agreed meaning: those of sysexits.h (BSD) that we use, and how a shell tells
// of a signal. Not in it: codes that only one program gives.
#pragma once

namespace muster {

inline constexpr int kExitUsage = 64;        ///< EX_USAGE: the command line is wrong
inline constexpr int kExitUnavailable = 69;  ///< EX_UNAVAILABLE: a peer or service cannot be used
inline constexpr int kExitInternal = 70;     ///< EX_SOFTWARE: our bug
inline constexpr int kExitOs = 71;           ///< EX_OSERR: a system call failed
inline constexpr int kExitRetry = 75;        ///< EX_TEMPFAIL: a passing shortage, try again
inline constexpr int kExitConfig = 78;       ///< EX_CONFIG: environment or file is wrong
/// POSIX shells: a child that signal n ended gives this + n.
inline constexpr int kSignalExitBase = 128;

}  // namespace muster
