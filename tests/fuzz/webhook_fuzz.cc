// Whoever reaches the dashboard can post anything: it is refused with a line of text, or becomes
// events that a page can be made of, within their limits.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/text.h"
#include "launcher/dashboard/curves.h"
#include "launcher/dashboard/job_json.h"
#include "launcher/dashboard/job_view.h"
#include "launcher/dashboard/webhook.h"

#include <nlohmann/json.hpp>

namespace {

using namespace muster;
using namespace muster::launcher;

void check_printable(const std::string& text, size_t most) {
  MUSTER_CHECK(one_line(text) == text);
  MUSTER_CHECK(!text.empty() && text.size() <= 4 * most);
}

void check(std::string_view body) {
  const auto batch = read_webhook(body);
  if (!batch) {
    MUSTER_CHECK(one_line(batch.error().text) == batch.error().text);
    return;
  }
  check_printable(batch->job, kMaxWebhookNameBytes);
  std::vector<StoredEvent> events;
  std::vector<StoredProgress> points;
  for (const WebhookEvent& event : batch->events) {
    check_printable(event.id, kMaxWebhookNameBytes);
    MUSTER_CHECK(event.body.size() <= kMaxKeptEventBytes && parse_json(event.body));
    events.push_back({batch->node, event.name, event.time_ms, event.body, event.seq,
                      static_cast<int64_t>(events.size())});
    points.push_back({batch->node, event.time_ms, event.body});
  }
  put_in_order(events);
  JobView view = view_of_job(events);
  add_progress(view, points);
  MUSTER_CHECK(view.rows.size() <= kMaxShownNodes && view.moments.size() <= kMaxShownMoments);
  MUSTER_CHECK(parse_json(detail_json({batch->job, 0}, view), 64 << 20));
  MUSTER_CHECK(parse_json(curves_json(batch->job, curves_of(points)), 64 << 20));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  check(R"({"version":1,"job":"j","node":"n","events":[)" + std::string(bytes) + "]}");
  if (const auto unpacked = gunzip(bytes, kMaxWebhookBytes)) check(*unpacked);
  return 0;
}
