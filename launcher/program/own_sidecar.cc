#include "launcher/program/own_sidecar.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/process/signal_policy.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "launcher/program/sidecar_verb.h"
#include "launcher/sidecar/report_target.h"
#include "launcher/sidecar/sidecar.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kEventFailed = "report.failed";
constexpr const char* kReportVariable = "MUSTER_REPORT";
constexpr std::string_view kEventWaiting = "report.waiting";
// Nobody wonders earlier why the job does not end.
constexpr Duration kSilentWait = std::chrono::seconds(1);
// From being told that its time is over.
constexpr Duration kLastWords = std::chrono::seconds(1);

bool asks_for_end(const ReceivedSignal& signal, const ProcessSetup& setup) {
  return respond_to(signal.number, {}, setup.ignored_at_start) == SignalResponse::kStop;
}

// It reads them from a descriptor. Before that they must not end it.
sigset_t with_requests_to_end(sigset_t mask) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&mask, signal);
  return mask;
}

// Everybody can read them: who is told, and maybe a secret in a URL, stands in a variable.
std::vector<std::string> words_of_sidecar(const Options& options, const std::string& folder,
                                          bool own_folder) {
  const ReportOptions& report = options.report;
  std::vector<std::string> words{"muster", "sidecar", std::string(kAfterAnother),
                                 "--run-dir=" + folder};
  if (own_folder) words.emplace_back(kOwnFolder);
  const std::pair<const char*, const std::string*> files[] = {{"--token-file=", &report.token_file},
                                                              {"--ca-file=", &report.ca_file},
                                                              {"--cert-file=", &report.cert_file},
                                                              {"--key-file=", &report.key_file}};
  for (const auto& [flag, path] : files) {
    if (!path->empty()) words.push_back(flag + *path);
  }
  words.push_back(fmt::format("--flush-timeout={}s", to_seconds(report.flush_timeout)));
  // What people see at level info of the agent says nothing of the job here.
  words.push_back("--log-level=" + (options.log_level == "info" ? "warning" : options.log_level));
  words.push_back("--log-format=" + options.log_format);
  return words;
}

}  // namespace

std::string usable_targets(const std::string& targets, const Environment& environment,
                           const Files& files) {
  std::vector<std::string> usable;
  for (const std::string_view word : words_of(targets)) {
    const auto target = parse_reports(word);  // it was read before, so it is one
    const Status fine = target ? can_tell(target->front(), environment, files) : Status();
    if (fine) {
      usable.emplace_back(word);
    } else {
      log::warning(kEventNoTarget, {{"target", shown(target->front())},
                                    {"error", fine.error().text},
                                    {"action", "going on without it"}});
    }
  }
  return join(usable, " ");
}

void OwnSidecar::start(const Options& options, const std::string& folder, bool own_folder,
                       const Environment& environment, const ProcessSetup& setup) {
  if (options.report.targets.empty()) return;
  Environment seen = environment;
  seen.set(kReportVariable, options.report.targets);
  request_.program = "/proc/self/exe";
  request_.arguments = words_of_sidecar(options, folder, own_folder);
  request_.environment = seen.to_exec_strings();
  request_.signal_mask = with_requests_to_end(setup.original_mask);
  request_.fd_limit = setup.original_fd_limit;
  request_.parent_death_signal = SIGTERM;
  flush_ = options.report.flush_timeout;
  folder_ = folder;
  if (!spawn()) pid_ = 0;
}

bool OwnSidecar::spawn() {
  const auto pid = processes_.spawn(request_);
  if (!pid) {
    log::warning(kEventFailed,
                 {{"error", pid.error().text}, {"action", "the job goes on, untold"}});
    return false;
  }
  pid_ = *pid;
  running_ = true;
  return true;
}

void OwnSidecar::note(const ReceivedSignal& signal, const ProcessSetup& setup) {
  stopped_ = stopped_ || asks_for_end(signal, setup);
}

void OwnSidecar::reap() {
  while (const auto reaped = processes_.reap()) {
    if (reaped->pid != pid_ || !std::exchange(running_, false)) continue;
    died_ = reaped->status.signal != 0;
    loop_.stop();
  }
}

void OwnSidecar::cut() {
  if (!std::exchange(cut_, true)) {
    log::warning(kEventFailed,
                 {{"error", "the job ends before everything was told"},
                  {"action", "the rest is in " + folder_ + "; `muster sidecar` can tell it"}});
  }
  (void)processes_.signal_child(pid_, SIGKILL);  // it may have just ended
}

void OwnSidecar::finish(const ProcessSetup& setup) {
  if (pid_ == 0) return;
  const bool was_there = wait_for_end(setup);
  if (was_there && (!died_ || cut_)) return;
  log::warning(kEventFailed, {{"error", "the sidecar ended before the job"},
                              {"action", "another one tells the rest"}});
  if (spawn()) (void)wait_for_end(setup);
}

// False: it had ended before, of which nobody told us when the agent reaped it.
bool OwnSidecar::wait_for_end(const ProcessSetup& setup) {
  if (!processes_.signal_child(pid_, SIGTERM)) return false;
  const Duration flush = stopped_ ? std::min(flush_, kMaxFlushAfterStop) : flush_;
  // It may have just ended.
  const Timer over = loop_.after(flush, [this] { (void)processes_.signal_child(pid_, SIGTERM); });
  const Timer told = loop_.after(kSilentWait, [flush] {
    log::info(kEventWaiting,
              {{"left_s", to_seconds(flush - kSilentWait)},
               {"action", "a receiver does not take reports; Ctrl-C ends the wait"}});
  });
  const Timer limit = loop_.after(flush + kLastWords, [this] { cut(); });
  const Timer first = loop_.soon([this] { reap(); });
  const Status ran = run_with_signals(loop_, setup.signal_fd.get(), [&](const ReceivedSignal& got) {
    if (got.number == SIGCHLD) return reap();
    if (asks_for_end(got, setup)) cut();
  });
  if (!ran) log::warning(kEventFailed, {{"error", ran.error().text}, {"action", "not waiting"}});
  return true;
}

}  // namespace muster::launcher
