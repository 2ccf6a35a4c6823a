// What the sidecar reads is written by others: a folder's journal, a user's URL, a receiver's
// Retry-After and what a script posts to the Trainer. All of it is none, or within its limits.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "launcher/progress/trainer_door.h"
#include "launcher/sidecar/journal_event.h"
#include "launcher/sidecar/retry_policy.h"
#include "launcher/sidecar/url.h"

namespace {

using namespace muster;
using namespace muster::launcher;

void check_url(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return;
  MUSTER_CHECK(!url->host.empty() && url->port != 0 && url->path.starts_with('/'));
  MUSTER_CHECK(url->shown().find('?') == std::string::npos);
  // It stands in the head of a request.
  MUSTER_CHECK(one_line(url->path) == url->path && one_line(url->host) == url->host);
  MUSTER_CHECK(url->path.find(' ') == std::string::npos);
}

void check_event(std::string_view line) {
  const auto event = parse_event(line);
  if (event) MUSTER_CHECK(event->mark.seq > 0 && !event->mark.id.empty() && event->line == line);
  if (const auto mark = mark_of(line)) MUSTER_CHECK(mark->seq > 0);
}

void check_wait(std::string_view value) {
  const auto wait = parse_retry_after(value, WallTime(std::chrono::hours(500'000)));
  if (wait) MUSTER_CHECK(*wait >= Duration::zero());
}

void check_trainer(std::string_view body) {
  const auto report = parse_trainer_status(body);
  if (!report) return;
  MUSTER_CHECK(report->metrics.size() <= kMaxMetrics);
  for (const auto& [name, value] : report->metrics)
    MUSTER_CHECK(!name.empty() && std::isfinite(value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_url(text);
  check_event(text);
  check_wait(text);
  check_trainer(text);
  return 0;
}
