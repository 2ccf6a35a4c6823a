#include "launcher/sidecar/event_queue.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace muster::launcher {

void EventQueue::push(JournalEvent event) {
  if (!event.replaces.empty()) {
    const auto waiting = events_.begin() + static_cast<std::ptrdiff_t>(under_way_);
    const auto older = std::find_if(waiting, events_.end(), [&event](const JournalEvent& other) {
      return other.replaces == event.replaces && other.job == event.job && other.node == event.node;
    });
    if (older != events_.end()) {
      bytes_ -= older->line.size();
      events_.erase(older);
    }
  }
  bytes_ += event.line.size();
  events_.push_back(std::move(event));
}

std::string EventQueue::take_body(size_t limit_bytes) {
  MUSTER_CHECK(!events_.empty());
  const JournalEvent& first = events_.front();
  std::string body = "{\"version\":1,\"job\":";
  append_json(body, first.job);
  body += ",\"node\":";
  append_json(body, first.node);
  body += ",\"events\":[";
  constexpr size_t kEndBytes = 2;
  under_way_ = 0;
  for (const JournalEvent& event : events_) {
    const bool fits = body.size() + event.line.size() + kEndBytes < limit_bytes;
    if (under_way_ > 0 && (!fits || event.job != first.job || event.node != first.node)) break;
    if (under_way_ > 0) body += ',';
    body += event.line;
    ++under_way_;
  }
  body += "]}";
  return body;
}

std::vector<JournalEvent> EventQueue::pop() {
  MUSTER_CHECK(under_way_ > 0);
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(under_way_);
  std::vector<JournalEvent> settled(std::make_move_iterator(events_.begin()),
                                    std::make_move_iterator(end));
  events_.erase(events_.begin(), end);
  for (const JournalEvent& event : settled) bytes_ -= event.line.size();
  under_way_ = 0;
  return settled;
}

}  // namespace muster::launcher
