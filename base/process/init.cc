#include "base/process/init.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process.h"
#include "base/signals.h"

namespace muster {

namespace {

std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ignored.push_back(signal);
  }
  return ignored;
}

// A closed 0, 1 or 2 would be given to the next file we open, and workers would write into it.
Status fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
      return os_error("open '/dev/null'");
  }
  return {};
}

}  // namespace

Result<ProcessSetup> init_process() {
  ProcessSetup setup;
  MUSTER_RETURN_IF_ERROR(fill_standard_descriptors());  // before anything else is opened
  setup.ignored_at_start = ignored_signals();
  auto mask = block_signals();
  if (!mask) return std::move(mask).error();
  setup.original_mask = *mask;
  auto signal_fd = open_signal_fd();
  if (!signal_fd) return std::move(signal_fd).error();
  setup.signal_fd = std::move(*signal_fd);
  MUSTER_RETURN_IF_ERROR(become_subreaper());  // as PID 1 it changes nothing and costs nothing
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return os_error("getrlimit RLIMIT_NOFILE");
  setup.original_fd_limit = limit.rlim_cur;
  auto raised = raise_fd_limit();
  if (!raised) return std::move(raised).error();
  setup.fd_limit = *raised;
  return setup;
}

}  // namespace muster
