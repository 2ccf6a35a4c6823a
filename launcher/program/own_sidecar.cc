#include "launcher/program/own_sidecar.h"

#include <fmt/core.h>

#include <csignal>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/process/signal_policy.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "launcher/program/sidecar_verb.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kEventFailed = "report.failed";
// The sidecar ends by itself when its own time is over.
constexpr Duration kMoreThanFlush = std::chrono::seconds(2);

std::vector<std::string> words_of_sidecar(const Options& options, const std::string& folder) {
  const ReportOptions& report = options.report;
  std::vector<std::string> words{"muster", "sidecar", std::string(kAfterAnother),
                                 "--run-dir=" + folder};
  for (const std::string_view target : words_of(report.targets))
    words.push_back("--report=" + std::string(target));
  const std::pair<const char*, const std::string*> kFiles[] = {
      {"--token-file=", &report.token_file},
      {"--ca-file=", &report.ca_file},
      {"--cert-file=", &report.cert_file},
      {"--key-file=", &report.key_file}};
  for (const auto& [flag, path] : kFiles) {
    if (!path->empty()) words.push_back(flag + *path);
  }
  words.push_back(fmt::format("--flush-timeout={}s", to_seconds(report.flush_timeout)));
  // What people see at level info of the agent says nothing of the job here.
  words.push_back("--log-level=" + (options.log_level == "info" ? "warning" : options.log_level));
  words.push_back("--log-format=" + options.log_format);
  return words;
}

}  // namespace

void OwnSidecar::start(const Options& options, const std::string& folder,
                       const Environment& environment, const ProcessSetup& setup) {
  if (options.report.targets.empty()) return;
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = words_of_sidecar(options, folder);
  request.environment = environment.to_exec_strings();
  request.signal_mask = setup.original_mask;
  request.fd_limit = setup.original_fd_limit;
  request.parent_death_signal = SIGTERM;
  const auto pid = processes_.spawn(request);
  if (!pid) {
    return log::warning(kEventFailed,
                        {{"error", pid.error().text}, {"action", "the job goes on, untold"}});
  }
  pid_ = *pid;
  running_ = true;
}

void OwnSidecar::reap() {
  while (const auto reaped = processes_.reap()) {
    if (reaped->pid != pid_ || !std::exchange(running_, false)) continue;
    status_ = reaped->status;
    loop_.stop();
  }
}

bool OwnSidecar::finish(const ProcessSetup& setup, Duration flush) {
  if (pid_ == 0) return true;
  // Nobody told us when the agent reaped it.
  if (!processes_.signal_child(pid_, SIGTERM)) {
    log::warning(kEventFailed, {{"error", "the sidecar ended before the job"},
                                {"action", "what was not told stays in the journal"}});
    return false;
  }
  const Timer limit = loop_.after(flush + kMoreThanFlush, [this] {
    (void)processes_.signal_child(pid_, SIGKILL);  // it may have just ended
  });
  const Timer first = loop_.soon([this] { reap(); });
  const Status ran = run_with_signals(loop_, setup.signal_fd.get(), [&](const ReceivedSignal& got) {
    if (got.number == SIGCHLD) return reap();
    const auto response = respond_to(got.number, {}, setup.ignored_at_start);
    if (response == SignalResponse::kStop) (void)processes_.signal_child(pid_, SIGKILL);
  });
  return ran && !running_ && status_.success();
}

}  // namespace muster::launcher
