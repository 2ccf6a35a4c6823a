// Error files come from any process that got the variable: whatever is in one, reading it gives a
// record within its limits, the reports made of it stay text, and the reply to it can be read.
#include <cstdint>

#include "base/check.h"
#include "base/text.h"
#include "launcher/report/error_file.h"
#include "launcher/report/termination_log.h"
#include "launcher/report/torchrun_report.h"
#include "tests/support/fake_files.h"

namespace {

using muster::launcher::RunReport;

RunReport report_of(const muster::elastic::ErrorFile& file) {
  RunReport report;
  report.entry_point = "train.py";
  muster::elastic::FailureRecord record;
  record.status.code = 1;
  record.reason = "exit code 1 (user error)";
  record.error_file = file;
  report.records.push_back(record);
  return report;
}

void check_text(const std::string& text) {
  MUSTER_CHECK(!text.empty());
  MUSTER_CHECK(muster::printable_utf8(text) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = muster::launcher::parse_error_file("/error.json", bytes);
  MUSTER_CHECK(file.message.size() <= muster::launcher::kMaxErrorTextBytes);
  MUSTER_CHECK(file.traceback.size() <= muster::launcher::kMaxErrorTextBytes);
  MUSTER_CHECK(file.problem.empty() || file.message.empty());

  MUSTER_CHECK(muster::printable_utf8(file.message) == file.message);
  MUSTER_CHECK(muster::printable_utf8(file.traceback) == file.traceback);

  const RunReport report = report_of(file);
  check_text(muster::launcher::report_summary(report));
  check_text(muster::launcher::torchrun_report(report));
  const std::string last_words = muster::launcher::termination_message(report);
  check_text(last_words);
  MUSTER_CHECK(last_words.size() <= muster::launcher::kMaxTerminationBytes);

  muster::testing::FakeFiles files;
  files.add_file("/error.json", bytes);
  MUSTER_CHECK(
      muster::launcher::write_reply_file(files, "/reply.json", report.records[0]).has_value());
  const auto reply = muster::launcher::read_error_file(files, "/reply.json");
  MUSTER_CHECK(reply.has_value() && reply->problem.empty());
  return 0;
}
