// Signals as values: names, sets, and a signalfd. The program blocks every signal before it does
// anything else and reads them from the loop; nothing is ever handled asynchronously.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

/// "SIGTERM" for 15, "SIGRTMIN+3", "signal 99" for what has no name.
[[nodiscard]] std::string signal_name(int signal);
/// "SIGTERM", "TERM", "term" or "15". None: no such signal.
[[nodiscard]] std::optional<int> parse_signal(std::string_view text);

/// Blocks every signal that can be blocked except the synchronous ones (SEGV, BUS, FPE, ILL, TRAP,
/// SYS, ABRT), ignores SIGPIPE and keep_children(). Returns the mask before, which workers get
/// back. kOs.
Result<sigset_t> block_signals();

/// SIGCHLD at its default. Where whoever started us ignored it (`trap "" CHLD` in a shell), the
/// kernel forgets children as they end, and nobody hears of it. kOs.
Status keep_children();

/// A non-blocking, close-on-exec signalfd for everything that block_signals() blocked.
Result<UniqueFd> open_signal_fd();

/// One signal that arrived.
struct ReceivedSignal {
  int number = 0;
  pid_t sender = 0;  ///< 0 = the kernel, or a process outside our PID namespace
};

/// The next signal of `signal_fd`, none when there is no more. kOs.
Result<std::optional<ReceivedSignal>> read_signal(int signal_fd);

}  // namespace muster
