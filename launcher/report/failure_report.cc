#include "launcher/report/failure_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "elastic/round_policy.h"
#include "launcher/report/termination_log.h"

namespace muster::launcher {

namespace {

using elastic::FailureClass;
using elastic::FailureRecord;

// The ranks of the last attempt besides the first failure.
struct Others {
  std::vector<const FailureRecord*> stopped;  // by the agent, in the order of their end
  std::vector<const FailureRecord*> failed;   // by themselves
};

Others others_of(const RunReport& report, const FailureRecord* first) {
  Others others;
  for (const FailureRecord& record : report.records) {
    if (&record == first || record.rank == elastic::kNoRank) continue;
    if (record.failure_class == FailureClass::kStopped) others.stopped.push_back(&record);
    if (elastic::is_failure(record.failure_class)) others.failed.push_back(&record);
  }
  return others;
}

std::string clip_line(std::string_view line) {
  if (line.size() <= kMaxReportLineBytes) return std::string(line);
  return std::string(clip_utf8(line, kMaxReportLineBytes)) + "...";
}

std::string first_line(std::string_view text) { return clip_line(text.substr(0, text.find('\n'))); }

// Who failed. What starts ranks says its name in the reason.
std::string who(const FailureRecord& record) {
  return record.rank == elastic::kNoRank ? "MPI" : fmt::format("rank {}", record.rank);
}

// The error file's message on one line, "" when there is none.
std::string message_of(const FailureRecord& record) {
  if (!record.error_file) return "";
  return printable_utf8(first_line(record.error_file->message));
}

bool has_traceback(const FailureRecord& record) {
  return record.error_file && !record.error_file->traceback.empty();
}

// Where the failure can be seen: the end of the traceback, else of the last lines.
struct Evidence {
  std::vector<std::string> lines;  // printable, at most kMaxReportLines
  bool cut = false;                // there were more
};

Evidence evidence_of(const FailureRecord& record, size_t limit = kMaxReportLines) {
  std::vector<std::string_view> all(record.last_lines.begin(), record.last_lines.end());
  if (has_traceback(record)) all = split(record.error_file->traceback, '\n');
  while (!all.empty() && trim(all.back()).empty()) all.pop_back();
  const size_t skipped = all.size() - std::min(all.size(), limit);
  Evidence evidence{{}, skipped > 0};
  for (size_t i = skipped; i < all.size(); ++i) {
    evidence.lines.push_back(printable_utf8(clip_line(all[i])));
  }
  return evidence;
}

std::string ranks_of(const std::vector<const FailureRecord*>& records) {
  constexpr size_t kMostNamed = 16;
  std::vector<int> ranks;
  for (const FailureRecord* record : records) ranks.push_back(record->rank);
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> words;
  for (const int rank : ranks) words.push_back(std::to_string(rank));
  if (words.size() > kMostNamed) {
    words.resize(kMostNamed);
    words.emplace_back("...");
  }
  return join(words, ", ");
}

// " after 12.3 s in attempt 0", without a time for what never ran.
std::string when(const FailureRecord& record) {
  const std::string attempt = fmt::format(" in attempt {}", record.attempt);
  return record.pid == 0 ? attempt : " after " + format_duration(record.alive) + attempt;
}

std::string others_phrase(const Others& others) {
  std::string text;
  if (!others.failed.empty()) {
    text += "; " + counted(others.failed.size(), "other rank failed after it",
                           "other ranks failed after it");
  }
  if (!others.stopped.empty()) {
    text += "; " + counted(others.stopped.size(), "other rank stopped", "other ranks stopped");
  }
  return text;
}

// Of the rank that failed first, else of this node.
std::string logs_of(const RunReport& report, const FailureRecord* first) {
  if (first == nullptr || first->logs.empty()) return report.log_dir;
  return report.elsewhere ? first->logs + " on " + first->node : first->logs;
}

std::string logs_phrase(const RunReport& report, const FailureRecord* first = nullptr) {
  const std::string logs = logs_of(report, first);
  return logs.empty() ? "" : "; logs in " + logs;
}

// Why the job ended although it may restart.
std::string loop_phrase(const RunReport& report) {
  return report.verdict.starts_with(elastic::kCrashLoop) ? "; " + report.verdict : "";
}

std::string failure_line(const RunReport& report, const FailureRecord& first) {
  const std::string message = message_of(first);
  return fmt::format("muster: {} on {} failed first: {}{}{}{}{}{}", who(first), first.node,
                     first.reason, when(first), message.empty() ? "" : ": " + message,
                     loop_phrase(report), others_phrase(others_of(report, &first)),
                     logs_phrase(report, &first));
}

std::string by_signal(const RunReport& report) {
  return report.stop_signal == 0 ? "" : " by " + signal_name(report.stop_signal);
}

// Of a run without a failure, or one that was told to end.
std::string stop_line(const RunReport& report) {
  const Others others = others_of(report, nullptr);
  const auto killed = static_cast<size_t>(
      std::count_if(others.stopped.begin(), others.stopped.end(),
                    [](const FailureRecord* record) { return record->status.signal == SIGKILL; }));
  Duration alive = Duration::zero();
  for (const FailureRecord& record : report.records) alive = std::max(alive, record.alive);
  std::string line = "muster: stopped" + by_signal(report);
  if (report.records.empty()) return line + ": no worker was running";
  line += fmt::format(" after {} in attempt {}: ", format_duration(alive),
                      report.records.front().attempt);
  line += counted(others.stopped.size() - killed, "rank ended as asked", "ranks ended as asked");
  if (killed != 0) line += fmt::format(", {} had to be killed", killed);
  if (const FailureRecord* failed = first_failure(report)) {
    line += fmt::format(", {} failed ({}: {})", others.failed.size(), who(*failed), failed->reason);
  }
  return line + logs_phrase(report);
}

std::string labelled(std::string_view label, std::string_view text) {
  return text.empty() ? fmt::format("  {}\n", label) : fmt::format("  {:<11} {}\n", label, text);
}

std::string rank_text(const RunReport& report, const FailureRecord& first) {
  const std::string pid = first.pid == 0 ? "" : fmt::format(", pid {}", first.pid);
  if (first.rank == elastic::kNoRank) return fmt::format("none: MPI{} on {}", pid, first.node);
  return fmt::format("{} of {} (local rank {}{}) on {}", first.rank, report.world_size,
                     first.local_rank, pid, first.node);
}

std::string time_text(const FailureRecord& first) {
  const std::string age = first.pid == 0 ? "" : ", after " + format_duration(first.alive);
  return format_utc_ms(first.noticed_wall) + age;
}

std::string attempts_text(const RunReport& report, const FailureRecord& first) {
  // Beyond that: membership changes are free, and a window forgets.
  const bool beyond = first.attempt > report.max_restarts;
  const std::string of =
      beyond ? "" : fmt::format(" ({} of at most {})", first.attempt + 1, report.max_restarts + 1);
  const std::string count = std::to_string(first.attempt) + of;
  return report.verdict.empty() ? count : count + "; " + report.verdict;
}

std::string evidence_text(const FailureRecord& first, size_t limit) {
  const Evidence evidence = evidence_of(first, limit);
  if (evidence.lines.empty()) return "";
  // Of its output only the end is known: not how long it was.
  const std::string cut =
      evidence.cut ? fmt::format("(the last {})", evidence.lines.size()) : std::string();
  std::string text = labelled(has_traceback(first) ? "traceback" : "last lines", cut);
  for (const std::string& line : evidence.lines) text += "    " + line + "\n";
  return text;
}

std::string error_file_text(const FailureRecord& first) {
  if (!first.error_file) return "";
  const auto& file = *first.error_file;
  if (file.path.empty() && file.problem.empty()) return "";  // it lies on another node
  return labelled("error file", file.problem.empty() ? file.path
                                                     : fmt::format("{} cannot be used: {}",
                                                                   file.path, file.problem));
}

std::string others_text(const RunReport& report, const Others& others) {
  constexpr size_t kMostShown = 8;
  const size_t shown = std::min(others.failed.size(), kMostShown);
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const FailureRecord& record = *others.failed[i];
    text += labelled("also failed", fmt::format("{}: {}", who(record), record.reason));
  }
  if (shown < others.failed.size()) {
    text += labelled("also failed", fmt::format("{} more", others.failed.size() - shown));
  }
  if (!others.stopped.empty()) {
    const std::string why = report.stop_signal == 0 ? "it" : signal_name(report.stop_signal);
    const bool one = others.stopped.size() == 1;
    const std::string ranks = ranks_of(others.stopped);
    text += labelled("stopped", one ? fmt::format("rank {} because of {}", ranks, why)
                                    : fmt::format("{} ranks because of {}: {}",
                                                  others.stopped.size(), why, ranks));
  }
  return text;
}

std::string marked(const std::string& text, const std::string& mark) {
  if (mark.empty()) return text;
  std::string result;
  for (const std::string_view line : split(trim(text), '\n'))
    result += mark + std::string(line) + "\n";
  return result;
}

}  // namespace

const FailureRecord* first_failure(const RunReport& report) {
  return report.first_is_known ? &report.records.front() : elastic::first_failure(report.records);
}

std::string report_line(const RunReport& report) {
  const FailureRecord* const first = first_failure(report);
  const bool failed = first != nullptr && report.stop_signal == 0;
  if (!failed && !report.end_reason.empty())
    return printable_utf8("muster: " + report.end_reason + logs_phrase(report));
  return printable_utf8(failed ? failure_line(report, *first) : stop_line(report));
}

std::string end_reason(const RunReport& report) {
  const FailureRecord* const first = first_failure(report);
  if (first == nullptr || report.stop_signal != 0) {
    const std::string line = report_line(report);
    return line.substr(line.find(' ') + 1);
  }
  const std::string message = message_of(*first);
  return printable_utf8(fmt::format("{} on {} failed first: {}{}{}", who(*first), first->node,
                                    first->reason, message.empty() ? "" : ": " + message,
                                    loop_phrase(report)));
}

std::string report_summary(const RunReport& report) {
  const FailureRecord* const first = first_failure(report);
  std::string line = report_line(report) + "\n";
  if (first == nullptr) return report.mark + line;
  const std::string message = message_of(*first);
  std::string text = report.entry_point +
                     (report.stop_signal == 0 ? " FAILED" : " stopped" + by_signal(report)) + "\n";
  text += labelled("rank", rank_text(report, *first));
  text += labelled("cause", first->reason);
  if (!message.empty()) text += labelled("message", message);
  if (!report.elsewhere) text += labelled("time", time_text(*first));
  text += labelled("attempt", attempts_text(report, *first));
  text += error_file_text(*first);
  text += evidence_text(*first, report.elsewhere ? kMaxLinesElsewhere : kMaxReportLines);
  text += others_text(report, others_of(report, first));
  if (const std::string logs = logs_of(report, first); !logs.empty())
    text += labelled("logs", logs);
  return marked(printable_utf8(text) + line, report.mark);
}

std::vector<std::string> evidence_lines(const FailureRecord& record) {
  return evidence_of(record).lines;
}

std::string termination_message(const RunReport& report) {
  const FailureRecord* const first = first_failure(report);
  std::string text = report_line(report) + "\n";
  if (first != nullptr) {
    const bool unusable = first->error_file && !first->error_file->problem.empty();
    if (unusable) text += printable_utf8(error_file_text(*first));
    const size_t used = std::min(text.size(), kMaxTerminationBytes);
    const auto lines = evidence_of(*first).lines;
    for (const std::string& line : last_lines(lines, kMaxTerminationBytes - used))
      text += line + "\n";
  }
  return std::string(clip_utf8(text, kMaxTerminationBytes));
}

void log_worker_exit(const FailureRecord& record, uint64_t round) {
  const bool signalled = record.status.signal != 0;
  const std::string message = message_of(record);
  const bool failed = elastic::is_failure(record.failure_class);
  log::write(failed ? log::Level::kError : log::Level::kInfo, "worker.exit",
             {record.rank == elastic::kNoRank ? log::Field("rank", "none")
                                              : log::Field("rank", record.rank),
              {"local_rank", record.local_rank},
              {"node", record.node},
              {"pid", record.pid},
              signalled ? log::Field("signal", signal_name(record.status.signal))
                        : log::Field("code", record.status.code),
              {"class", elastic::to_string(record.failure_class)},
              {"reason", message.empty() ? record.reason : record.reason + ": " + message},
              {"alive_s", record.alive},
              {"attempt", record.attempt},
              {"round", round},
              {"last_lines", failed ? evidence_lines(record) : std::vector<std::string>()}});
}

}  // namespace muster::launcher
