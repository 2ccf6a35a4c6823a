#include "base/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"

namespace muster {

namespace {

// Synchronous signals are our own bugs: blocked, the kernel would kill us anyway, but without a
// core.
constexpr int kSynchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

sigset_t watched_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal : kSynchronous) sigdelset(&set, signal);
  return set;
}

}  // namespace

std::string signal_name(int signal) {
  if (const char* abbreviation = sigabbrev_np(signal)) return std::string("SIG") + abbreviation;
  if (signal >= SIGRTMIN && signal <= SIGRTMAX)
    return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  return "signal " + std::to_string(signal);
}

std::optional<int> parse_signal(std::string_view text) {
  if (const auto number = parse_integer(text)) {
    return *number > 0 && *number <= SIGRTMAX ? std::optional<int>(static_cast<int>(*number))
                                              : std::nullopt;
  }
  std::string name = to_upper(text);
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* abbreviation = sigabbrev_np(signal);
    if (abbreviation != nullptr && name == abbreviation) return signal;
  }
  return std::nullopt;
}

Result<sigset_t> block_signals() {
  const sigset_t watched = watched_signals();
  sigset_t before;
  if (sigprocmask(SIG_BLOCK, &watched, &before) != 0) return os_error("sigprocmask");
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  if (sigaction(SIGPIPE, &ignore, nullptr) != 0) return os_error("sigaction SIGPIPE");
  MUSTER_RETURN_IF_ERROR(keep_children());
  return before;
}

Status keep_children() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  if (sigaction(SIGCHLD, &usual, nullptr) != 0) return os_error("sigaction SIGCHLD");
  return {};
}

Result<UniqueFd> open_signal_fd() {
  const sigset_t watched = watched_signals();
  UniqueFd fd(signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.is_open()) return os_error("signalfd");
  return fd;
}

Result<std::optional<ReceivedSignal>> read_signal(int signal_fd) {
  signalfd_siginfo info{};
  const ssize_t got = read(signal_fd, &info, sizeof info);
  if (got == static_cast<ssize_t>(sizeof info)) {
    return std::optional<ReceivedSignal>(
        ReceivedSignal{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid)});
  }
  if (got < 0 && errno != EAGAIN && errno != EINTR) return os_error("read signalfd");
  return std::optional<ReceivedSignal>();
}

}  // namespace muster
