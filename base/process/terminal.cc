#include "base/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"
#include "base/log.h"

namespace muster {

namespace {

using enum TerminalEvent;

constexpr int kTerminal = STDIN_FILENO;

// Both are 0 if our group is outside of our PID namespace, as below `unshare --fork`.
bool has_foreground() { return tcgetpgrp(kTerminal) == getpgrp(); }

// A shell with job control gives each job a group of its own, and is the one that continues it.
bool can_be_continued() { return getpgrp() != getsid(0); }

void give(pid_t group) { (void)tcsetpgrp(kTerminal, group); }  // fails where it was hung up

// Whoever started us may have taken it while we stood still: then it is theirs.
void take_back() {
  if (tcgetpgrp(kTerminal) != getpgid(getppid())) give(getpgrp());
}

// Ours, or nobody's that becomes ours.
bool is_of_our_session() {
  if (tcgetsid(kTerminal) != -1) return true;
  if (getpid() == 1 && getsid(0) != 1) (void)setsid();  // fails for the leader of a group
  return getsid(0) == getpid() && ioctl(kTerminal, TIOCSCTTY, 0) == 0;
}

}  // namespace

std::optional<Terminal> Terminal::find(ProcessHost& host) {
  if (isatty(kTerminal) == 0 || !is_of_our_session()) return std::nullopt;
  return Terminal(host);
}

void Terminal::prepare(SpawnRequest& request) {
  const bool in_front = has_foreground();
  termios settings{};
  settings_.reset();
  if (in_front && tcgetattr(kTerminal, &settings) == 0) settings_ = settings;
  request.new_session = false;
  request.new_group = true;
  request.foreground_of = in_front ? kTerminal : -1;
  handle(in_front ? kStartInFront : kStartBehind);
}

void Terminal::look() {
  const int signal = host_->stop_signal(program_);
  if (signal == 0) return;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && has_foreground()) return handle(kWantsTerminal);
  // A shell that is told to `suspend` sends itself SIGSTOP, so that is no exception.
  handle(can_be_continued() ? kStopped : kStoppedAlone);
}

void Terminal::suspend() {
  handle(kSuspended);
  suspend_self();
  (void)host_->stop_signal(program_);  // it was stopped with us, and goes on with us
}

void Terminal::continued() { handle(has_foreground() ? kContinuedInFront : kContinuedBehind); }

void Terminal::started(pid_t program) {
  program_ = program;
  if (program == 0) handle(kEnded);
}

int Terminal::ended(const ExitStatus& status) {
  const bool had_foreground = state_ == TerminalState::kFront;
  program_ = 0;
  handle(kEnded);
  // What cannot be set is a terminal that was hung up.
  if (had_foreground && !status.success() && settings_)
    (void)tcsetattr(kTerminal, TCSANOW, &*settings_);
  const int signal = status.shell_code() - kSignalExitBase;
  return had_foreground && (signal == SIGINT || signal == SIGQUIT) ? signal : 0;
}

void Terminal::handle(TerminalEvent event) {
  const auto& row = transition(state_, event);
  log::debug("terminal.transition", {{"state", to_string(state_)},
                                     {"event", to_string(event)},
                                     {"next", to_string(row.next)},
                                     {"action", to_string(row.action)}});
  state_ = row.next;
  switch (row.action) {
    case TerminalAction::kNothing:
      return;
    case TerminalAction::kGive:
      return give(program_);
    case TerminalAction::kGiveAndWake:
      give(program_);
      (void)host_->signal_group(program_, SIGCONT);  // one that just ended is fine
      return;
    case TerminalAction::kTakeBack:
      return take_back();
    case TerminalAction::kStopOurs:
      take_back();
      return signal_own_group(SIGTSTP);  // we are told of it as of any other
    case TerminalAction::kBug:
      MUSTER_CHECK(row.action != TerminalAction::kBug);
  }
}

}  // namespace muster
