#include "launcher/status_port/event_ring.h"

#include <algorithm>
#include <utility>

namespace muster::launcher {

std::string server_sent(std::string_view id, std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return std::string("id: ").append(id).append("\ndata: ").append(line).append("\n\n");
}

void EventRing::add(std::string_view id, std::string_view line) {
  Kept& kept = kept_.emplace_back(Kept{std::string(id), server_sent(id, line)});
  bytes_ += kept.text.size();
  if (listener_) listener_(kept.text);
  while (kept_.size() > kMaxRingEvents || (bytes_ > kMaxRingBytes && kept_.size() > 1)) {
    bytes_ -= kept_.front().text.size();
    kept_.pop_front();
  }
}

std::string EventRing::since(std::string_view last_id) const {
  auto from = std::ranges::find(kept_, last_id, &Kept::id);
  from = from == kept_.end() ? kept_.begin() : std::next(from);
  std::string text;
  for (; from != kept_.end(); ++from) text += from->text;
  return text;
}

}  // namespace muster::launcher
