// EventQueue: events that wait for a receiver, in their order, and the bodies in which it gets them
// (docs/observability.md, "The webhook"). Bounded. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "launcher/sidecar/journal_event.h"

namespace muster::launcher {

/// Of one body before it is compressed; the page promises no more than 1 MiB, and memory is the
/// reason for less. A single event may be longer: kMaxJournalLineBytes and a head.
inline constexpr size_t kMaxBodyBytes = 256 * 1024;
/// Of what waits: then the journal is not read on.
inline constexpr size_t kMaxQueuedBytes = 384 * 1024;

class EventQueue {
 public:
  /// At the end. An event of the same `replaces` that waits goes, unless it is in a body that is
  /// under way.
  void push(JournalEvent event);
  [[nodiscard]] bool has_room() const { return bytes_ < kMaxQueuedBytes; }
  [[nodiscard]] bool is_empty() const { return events_.empty(); }
  [[nodiscard]] size_t size() const { return events_.size(); }

  /// {"version":1,"job":…,"node":…,"events":[…]} of the first events: those of one job and node,
  /// one at least and else as many as fit in `limit_bytes`. They are under way from now on, until
  /// put_back() or pop().
  std::string take_body(size_t limit_bytes);
  /// Of the body under way.
  [[nodiscard]] size_t under_way() const { return under_way_; }
  /// They wait again.
  void put_back() { under_way_ = 0; }
  /// They are settled. Returns them; one at least was under way.
  std::vector<JournalEvent> pop();

 private:
  std::deque<JournalEvent> events_;
  size_t bytes_ = 0;
  size_t under_way_ = 0;
};

}  // namespace muster::launcher
