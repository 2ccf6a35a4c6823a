#include "launcher/report/torchrun_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/signals.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using elastic::FailureClass;
using elastic::FailureRecord;

constexpr size_t kMaxBorder = 60;

// "2026-01-31_12:34:56", to the second like there.
std::string time_of(const FailureRecord& record) {
  const bool from_file = record.error_file && record.error_file->written;
  std::string text = format_utc_ms(from_file ? *record.error_file->written : record.noticed_wall);
  text[text.find('T')] = '_';
  return text.substr(0, text.find('.'));
}

std::string without_error_file(const FailureRecord& record) {
  if (record.failure_class == FailureClass::kInfrastructure) return record.reason;
  if (record.status.signal == 0) {
    if (record.failure_class == FailureClass::kOutOfMemory) return record.reason;
    return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
  }
  const std::string text = fmt::format("Signal {} ({}) received by PID {}", record.status.signal,
                                       signal_name(record.status.signal), record.pid);
  return record.failure_class == FailureClass::kOutOfMemory ? text + ": " + record.reason : text;
}

std::string traceback_of(const FailureRecord& record) {
  if (!record.error_file || !record.error_file->problem.empty()) return without_error_file(record);
  const auto& file = *record.error_file;
  const std::string text = printable_utf8(file.traceback.empty() ? file.message : file.traceback);
  std::string indented;
  for (const char c : text) {
    indented += c;
    if (c == '\n') indented += "  ";
  }
  return indented;
}

// Trailing spaces are torchrun's.
std::string block(size_t index, const FailureRecord& record) {
  const int signal = record.status.signal;
  return fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  exitcode  : {} (pid: {}) {}\n"
      "  error_file: {}\n"
      "  traceback : {}\n",
      index, time_of(record), record.node, record.rank, record.local_rank,
      signal != 0 ? -signal : record.status.code, record.pid,
      signal != 0 ? " (" + signal_name(signal) + ")" : "",
      record.error_file ? record.error_file->path : "<N/A>", traceback_of(record));
}

// Python counts characters, so bytes that continue one do not count.
size_t longest_line(const std::string& text) {
  size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    });
    longest = std::max(longest, static_cast<size_t>(characters));
  }
  return longest;
}

}  // namespace

std::string torchrun_report(const RunReport& report) {
  const FailureRecord* const first = first_failure(report);
  if (first == nullptr) return "";
  const std::string title = report.entry_point + " FAILED";
  std::string root;
  std::string others;
  size_t index = 0;
  for (const FailureRecord& record : report.records) {
    if (record.status.success() && !elastic::is_failure(record.failure_class)) continue;
    (&record == first ? root : others) += block(index++, record);
  }
  const size_t width =
      std::min({kMaxBorder, std::max({title.size(), longest_line(root), longest_line(others)})});
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "{}\n{}\n{}\nFailures:\n{}{}\nRoot Cause (first observed failure):\n{}{}\n",
      border, title, section, others.empty() ? "  <NO_OTHER_FAILURES>\n" : others, section, root,
      border);
}

}  // namespace muster::launcher
