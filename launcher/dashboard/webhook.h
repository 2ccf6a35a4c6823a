// A body of the webhook: the JSON that sidecars post, read and judged. Pure. docs/observability.md
// has its form; what is done with the events is the event store's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::launcher {

inline constexpr size_t kMaxWebhookBytes = 1 << 20;  ///< of a body, also when it is unpacked
inline constexpr size_t kMaxWebhookNameBytes = 256;  ///< of a job, a node, an id, an event
/// Of one event as it is kept: a journal's line has 128 KiB. What is longer is kept without its own
/// fields, with "cut":true.
inline constexpr size_t kMaxKeptEventBytes = 256 << 10;

/// The name of points of progress, of which there are many.
inline constexpr std::string_view kProgressEvent = "progress";
/// From here on the events of that node have this batch's job; before, they had that of "was".
inline constexpr std::string_view kNamedEvent = "job.named";

/// One line of a journal.
struct WebhookEvent {
  std::string id;
  std::string name;          ///< "worker.exit"
  int64_t time_ms = 0;       ///< since 1970, UTC
  int64_t seq = 0;           ///< its place among the lines of its journal, from 1; 0 = not told
  int64_t rank = INT64_MAX;  ///< that says it; INT64_MAX = not told
  int64_t worth = 1;         ///< of too many those of 0 go first, those of 2 last
  std::string was = {};      ///< of kNamedEvent
  std::string body;          ///< the whole object as JSON, printable
};

struct WebhookBatch {
  std::string job;
  std::string node;
  std::vector<WebhookEvent> events;
};

/// kProtocol: no JSON, or not of that form; the text says what and in which event. kLimit: too
/// long. Keys that are not known are kept or passed over.
Result<WebhookBatch> read_webhook(std::string_view body);

/// How long an event is worth keeping, when there are too many: 0 what a large job says most of and
/// explains nothing, 2 what the rest is not understood without, 1 everything else.
[[nodiscard]] int64_t worth_of(std::string_view name, std::string_view level);

/// "2026-11-27T21:07:51.192Z" as milliseconds since 1970; the fraction may be left out. None:
/// anything else, and years outside of 1970 to 9999.
[[nodiscard]] std::optional<int64_t> parse_utc_ms(std::string_view text);

}  // namespace muster::launcher
