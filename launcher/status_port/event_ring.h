// EventRing: the last events of this agent, for who reads along over HTTP: as the journal has them,
// or without one made in the same way. Bounded. Pure but for its listener.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace muster::launcher {

/// What is kept for whoever comes again and says what it had last.
inline constexpr size_t kMaxRingEvents = 256;
inline constexpr size_t kMaxRingBytes = 1 << 20;

class EventRing {
 public:
  /// A line of the journal, with or without its '\n'.
  void add(std::string_view id, std::string_view line);
  /// Called with each new event as server_sent() gives it; empty = nobody listens.
  void on_event(std::function<void(std::string_view text)> listener) {
    listener_ = std::move(listener);
  }
  /// What followed the event of that id; all that is kept, if it is none of these, or "".
  [[nodiscard]] std::string since(std::string_view last_id) const;

 private:
  struct Kept {
    std::string id;
    std::string text;
  };
  std::deque<Kept> kept_;
  size_t bytes_ = 0;
  std::function<void(std::string_view)> listener_;
};

/// An event of a text/event-stream: its id and one line of data.
/// Source: html.spec.whatwg.org, "Server-sent events".
[[nodiscard]] std::string server_sent(std::string_view id, std::string_view line);

}  // namespace muster::launcher
