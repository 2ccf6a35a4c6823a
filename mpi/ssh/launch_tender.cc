#include "mpi/ssh/launch_tender.h"

#include <csignal>
#include <utility>

#include "mpi/ranks/mpi_ranks.h"

namespace muster::mpi {

namespace {

bool means_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

LaunchTender::LaunchTender(Loop& loop, ProcessHost& processes, UniqueFd reports, Done done)
    : loop_(loop), processes_(processes), reports_(std::move(reports)), done_(std::move(done)) {}

Status LaunchTender::start(const SpawnRequest& launcher) {
  auto watch = loop_.watch(reports_.get(), Interest::kRead, [this](Ready) { on_reports(); });
  if (!watch) return std::move(watch).error();
  watch_ = std::move(*watch);
  const auto pid = processes_.spawn(launcher);
  if (!pid) return Error(pid.error());
  launcher_ = *pid;
  return {};
}

void LaunchTender::handle_signal(const ReceivedSignal& signal) {
  if (signal.number == SIGCHLD) return reap();
  told_to_end_ = told_to_end_ || means_end(signal.number);
  if (launcher_) (void)processes_.signal_child(*launcher_, signal.number);
}

void LaunchTender::reap() {
  while (const auto ended = processes_.reap()) {
    if (ended->pid != launcher_) continue;  // an orphan
    launcher_.reset();
    launcher_ended(ended->status);
  }
}

void LaunchTender::on_reports() {
  take_reports();
  if (!launcher_) finish_if_all_ended();
}

void LaunchTender::take_reports() {
  for (const SshReport& report : read_ssh_reports(reports_)) {
    if (!report.end) {
      open_[report.pid] = report.host;
      continue;
    }
    open_.erase(report.pid);
    if (!report.end->success()) connection_failed(report.host, *report.end);
  }
}

// A lost connection explains what the launcher does next, so it replaces the exit code of a daemon,
// and no later failure replaces it.
void LaunchTender::connection_failed(const std::string& host, const ExitStatus& status) {
  const bool lost = status.signal != 0 || status.code == kSshLost;
  if (failure_ && (failure_->explains || !lost)) return;
  failure_ = {.exit_code = status.shell_code(),
              .why = (lost ? "the connection to " + host + " was lost, or its daemon killed"
                           : "the daemon on " + host + " failed") +
                     ": ssh: " + status.describe(),
              .explains = lost};
  if (launcher_ && !told_to_end_) {
    timer_ = loop_.after(lost ? kAfterLostConnection : kUnexplained, [this] { end_launcher(); });
  }
}

// A launcher that was killed breaks its connections, so what they report then explains nothing.
// Other launchers end because of what was reported, and the report may still be unread.
void LaunchTender::launcher_ended(const ExitStatus& status) {
  timer_.reset();
  if (told_to_end_) return finish(status.shell_code(), "");
  if (status.signal == 0) take_reports();
  if (failure_ && (failure_->explains || status.success())) return finish_with_failure();
  if (!status.success()) return finish(status.shell_code(), "");
  timer_ = loop_.after(kConnectionEnd, [this] {
    finish(kExitUntruthful, "the launcher ended with 0, but its connection to " +
                                open_.begin()->second + " had not ended");
  });
  finish_if_all_ended();
}

// After a launcher that said 0.
void LaunchTender::finish_if_all_ended() {
  if (failure_) return finish_with_failure();
  if (open_.empty()) finish(0, "");
}

// What is still there after the grace period is left to the agent, which kills all of it.
void LaunchTender::end_launcher() {
  failure_->explains = true;
  (void)processes_.signal_child(*launcher_, SIGTERM);
  timer_ = loop_.after(kTendedGrace, [this] { finish_with_failure(); });
}

void LaunchTender::finish_with_failure() { finish(failure_->exit_code, failure_->why); }

void LaunchTender::finish(int exit_code, const std::string& why) {
  timer_.reset();
  watch_.reset();
  if (done_) std::exchange(done_, {})(exit_code, why);
}

}  // namespace muster::mpi
