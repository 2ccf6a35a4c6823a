#include "launcher/frameworks/launcher_runner.h"

#include <csignal>
#include <utility>

#include "base/check.h"

namespace muster::launcher {

LauncherRunner::LauncherRunner(LauncherRunnerSetup setup, Done done)
    : setup_(std::move(setup)), done_(std::move(done)) {}

// The agent must know of the launcher before it hears of the first rank, on another connection.
void LauncherRunner::start() {
  channel_ =
      RshChannel::dial(setup_.loop, setup_.network, setup_.agent, setup_.tls,
                       {.on_open = [this] { channel_->send(setup_.launcher); },
                        .on_message = [this](const RshMessage& message) { on_message(message); },
                        .on_closed =
                            [this](const Error& /*error*/) {
                              // The job is over, or there is no place: ranks will be told so.
                              handle(LauncherEvent::kAgentGone);
                            }});
}

void LauncherRunner::on_message(const RshMessage& message) {
  if (std::holds_alternative<rsh::LauncherHangs>(message)) handle(LauncherEvent::kHangs);
  if (std::holds_alternative<rsh::Noted>(message)) handle(LauncherEvent::kNoted);
}

void LauncherRunner::handle_signal(int signal) {
  if (signal == SIGCHLD) return reap();
  if (pid_ != 0) {
    (void)setup_.processes.signal_child(pid_, signal);  // or it just ended
  } else if (state_ == LauncherState::kAsking) {
    early_.push_back(signal);
  }
}

void LauncherRunner::reap() {
  bool ended = false;
  while (const auto reaped = setup_.processes.reap()) {
    if (pid_ == 0 || reaped->pid != pid_) continue;  // an orphan that the launcher left
    pid_ = 0;
    end_ = reaped->status;
    ended = true;
  }
  if (ended) handle(end_->signal == SIGKILL ? LauncherEvent::kKilled : LauncherEvent::kEnded);
}

void LauncherRunner::handle(LauncherEvent event) {
  const LauncherTransition& row = transition(state_, event);
  state_ = row.next;
  perform(row.action);
}

void LauncherRunner::perform(LauncherAction action) {
  switch (action) {
    case LauncherAction::kNothing:
      return;
    case LauncherAction::kStartWatched:
      return spawn(setup_.watched);
    case LauncherAction::kStartUnwatched:
      return spawn(setup_.unwatched);
    case LauncherAction::kKill:
      (void)setup_.processes.signal_child(pid_, SIGKILL);  // or it just ended
      return;
    case LauncherAction::kSweep:
      end_ = ExitStatus();
      sweep_until_ = setup_.loop.now() + kLauncherSweepDeadline;
      return sweep();
    case LauncherAction::kReport:
      return report_end();
    case LauncherAction::kFinish:
      return finish();
    case LauncherAction::kBug:
      break;
  }
  MUSTER_CHECK(false);
}

void LauncherRunner::spawn(const SpawnRequest& request) {
  auto pid = setup_.processes.spawn(request);
  if (!pid) {
    end_ = std::move(pid).error();
    return handle(LauncherEvent::kNotStarted);
  }
  pid_ = *pid;
  setup_.started();
  for (const int signal : std::exchange(early_, {})) handle_signal(signal);
}

void LauncherRunner::sweep() {
  if (setup_.processes.signal_descendants(SIGKILL, {}) == 0 || setup_.loop.now() >= sweep_until_)
    return handle(LauncherEvent::kSwept);
  timer_ = setup_.loop.after(kLauncherSweepInterval, [this] { sweep(); });
}

void LauncherRunner::report_end() {
  if (!channel_->is_open()) return handle(LauncherEvent::kAgentGone);
  channel_->send(rsh::LauncherEnd{.code = static_cast<uint8_t>(end_->code),
                                  .signal = static_cast<uint8_t>(end_->signal)});
  timer_ = setup_.loop.after(kLauncherReportDeadline, [this] { handle(LauncherEvent::kNoAnswer); });
}

// From a turn of its own: the owner may destroy this.
void LauncherRunner::finish() {
  timer_ = setup_.loop.soon([done = std::move(done_), end = std::move(end_)] { done(end); });
}

}  // namespace muster::launcher
