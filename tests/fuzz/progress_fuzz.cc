// What workers print and send is anything: whatever is read in it is within its limits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "launcher/progress/progress_lines.h"
#include "launcher/progress/progress_pattern.h"
#include "launcher/progress/progress_report.h"

namespace {

void check(const muster::launcher::ProgressReport& report) {
  using namespace muster::launcher;
  MUSTER_CHECK(!report.step || (*report.step >= 0 && *report.step <= 2 * kMaxStep));
  MUSTER_CHECK(!report.total || (*report.total > 0 && *report.total <= kMaxStep));
  MUSTER_CHECK(!report.epoch || std::isfinite(*report.epoch));
  MUSTER_CHECK(report.metrics.size() <= kMaxMetrics);
  for (const auto& [name, value] : report.metrics)
    MUSTER_CHECK(!name.empty() && std::isfinite(value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::launcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ProgressLines lines;
  MUSTER_CHECK(lines.read_all(text, size + 1, check) <= size);
  if (const auto report = parse_progress_message(text)) check(*report);
  // A pattern, and what it is to be found in.
  const size_t end = std::min(text.find('\n'), text.size());
  if (auto pattern = ProgressPattern::parse(text.substr(0, end))) {
    ProgressLines own(*std::move(pattern));
    own.read_all(text.substr(end), size + 1, check);
  }
  return 0;
}
