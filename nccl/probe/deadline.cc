#include "nccl/probe/deadline.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/exit_code.h"
#include "base/text.h"

namespace muster::probe {
namespace {

// A signal handler sees nothing else.
std::string beginning;
const char* volatile current_step = "";

// Only what a signal handler may call. Nothing can be done about a stderr that takes nothing.
void give_up(int /*signal*/) {
  const char* step = current_step;
  (void)!write(STDERR_FILENO, beginning.data(), beginning.size());
  (void)!write(STDERR_FILENO, step, std::strlen(step));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kExitUnavailable);
}

}  // namespace

Status set_deadline(const std::string& verb, Duration limit) {
  beginning = "muster-probe " + verb + ": not done within " + format_duration(limit) + ": ";
  struct sigaction action {};
  action.sa_handler = give_up;
  if (sigaction(SIGALRM, &action, nullptr) < 0) return os_error("sigaction SIGALRM");
  sigset_t alarm_alone;
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  if (sigprocmask(SIG_UNBLOCK, &alarm_alone, nullptr) < 0) return os_error("sigprocmask");
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(limit).count();
  itimerval timer{};
  timer.it_value.tv_sec = micros / 1'000'000;
  timer.it_value.tv_usec = micros % 1'000'000;
  if (setitimer(ITIMER_REAL, &timer, nullptr) < 0) return os_error("setitimer");
  return {};
}

void note_step(const char* step) { current_step = step; }

}  // namespace muster::probe
