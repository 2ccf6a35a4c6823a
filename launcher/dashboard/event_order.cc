#include "launcher/dashboard/event_order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster::launcher {

namespace {

struct Place {
  int64_t journal = 0;  // of its node, as they came
  StoredEvent* event = nullptr;
};

// Those without seq are alone in a journal -1.
std::vector<Place> by_arrival(std::vector<StoredEvent>& events) {
  std::vector<Place> places;
  places.reserve(events.size());
  for (StoredEvent& event : events) places.push_back({event.seq == 0 ? -1 : 0, &event});
  std::ranges::sort(places, {}, [](const Place& place) { return place.event->arrival; });
  std::map<std::string, int64_t> journals;
  for (Place& place : places) {
    if (place.journal < 0) continue;
    int64_t& journal = journals[place.event->node];
    if (place.event->seq == 1) ++journal;
    place.journal = journal;
  }
  return places;
}

}  // namespace

void put_in_order(std::vector<StoredEvent>& events) {
  std::vector<Place> places = by_arrival(events);
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    const auto key = [](const Place& place) {
      const StoredEvent& event = *place.event;
      return std::tie(event.node, place.journal, event.seq, event.time_ms, event.arrival);
    };
    return key(a) < key(b);
  });
  const Place* last = nullptr;
  for (const Place& place : places) {
    const bool goes_on =
        last != nullptr && last->event->node == place.event->node && last->journal == place.journal;
    if (goes_on) place.event->time_ms = std::max(place.event->time_ms, last->event->time_ms);
    last = &place;
  }
  std::ranges::stable_sort(places, {}, [](const Place& place) { return place.event->time_ms; });
  std::vector<StoredEvent> ordered;
  ordered.reserve(events.size());
  for (const Place& place : places) ordered.push_back(std::move(*place.event));
  events = std::move(ordered);
}

}  // namespace muster::launcher
