#include "base/own_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace muster {

void end_by_signal(int signal) {
  const rlimit no_core{};
  (void)setrlimit(RLIMIT_CORE, &no_core);  // lowering it cannot fail
  struct sigaction to_default {};
  to_default.sa_handler = SIG_DFL;
  (void)sigaction(signal, &to_default, nullptr);  // of SIGKILL it is
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  (void)raise(signal);  // it waits until it is let in
  (void)sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

void leave_process_group() {
  if (getpgrp() != getpid()) (void)setpgid(0, 0);  // who leads no group may
}

}  // namespace muster
