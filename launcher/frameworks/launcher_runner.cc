#include "launcher/frameworks/launcher_runner.h"

#include <csignal>
#include <utility>

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
                              if (reported_) return finish(*status_);
                              if (pid_ == 0 && !status_) begin(setup_.unwatched);
                            }});
}

void LauncherRunner::on_message(const RshMessage& message) {
  if (std::holds_alternative<rsh::LauncherHangs>(message)) {
    hangs_ = pid_ != 0 && setup_.processes.signal_child(pid_, SIGKILL);
  } else if (std::holds_alternative<rsh::Noted>(message)) {
    if (!std::exchange(noted_, true)) return begin(setup_.watched);
    if (reported_) finish(*status_);
  }
}

void LauncherRunner::begin(const SpawnRequest& request) {
  auto pid = setup_.processes.spawn(request);
  if (!pid) return finish(std::move(pid).error());
  pid_ = *pid;
  setup_.started();
  for (const int signal : std::exchange(early_, {})) handle_signal(signal);
}

void LauncherRunner::handle_signal(int signal) {
  if (signal == SIGCHLD) return reap();
  if (pid_ != 0) {
    (void)setup_.processes.signal_child(pid_, signal);  // or it just ended
  } else if (!status_) {
    early_.push_back(signal);
  }
}

void LauncherRunner::reap() {
  bool ended = false;
  while (const auto reaped = setup_.processes.reap()) {
    if (pid_ == 0 || reaped->pid != pid_) continue;  // an orphan that the launcher left
    pid_ = 0;
    status_ = reaped->status;
    ended = true;
  }
  if (!ended) return;
  if (!hangs_ || status_->signal != SIGKILL) return report_end();  // else it ended by itself before
  status_ = ExitStatus();
  sweep_until_ = setup_.loop.now() + kLauncherSweepDeadline;
  sweep();
}

void LauncherRunner::sweep() {
  if (setup_.processes.signal_descendants(SIGKILL, {}) == 0 || setup_.loop.now() >= sweep_until_)
    return report_end();
  timer_ = setup_.loop.after(kLauncherSweepInterval, [this] { sweep(); });
}

void LauncherRunner::report_end() {
  if (!noted_ || !channel_->is_open()) return finish(*status_);
  reported_ = true;
  channel_->send(rsh::LauncherEnd{.code = static_cast<uint8_t>(status_->code),
                                  .signal = static_cast<uint8_t>(status_->signal)});
  timer_ = setup_.loop.after(kLauncherReportDeadline, [this] { finish(*status_); });
}

// From a turn of its own, and once: the owner may destroy this.
void LauncherRunner::finish(Result<ExitStatus> result) {
  if (!done_) return;
  timer_ = setup_.loop.soon(
      [done = std::exchange(done_, {}), result = std::move(result)] { done(result); });
}

}  // namespace muster::launcher
