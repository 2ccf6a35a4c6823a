// The order of a job's events. Within a node it is that of its journal, whatever its clock did; the
// nodes are merged by time. Pure; for the event store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::launcher {

/// An event as it was posted, without those called "progress".
struct StoredEvent {
  std::string node;
  std::string name;
  int64_t time_ms = 0;
  std::string body;     ///< JSON object
  int64_t seq = 0;      ///< as of WebhookEvent
  int64_t arrival = 0;  ///< one more with each event that came
};

/// Where a node's clock steps back, `time_ms` becomes the latest time that the node told before, so
/// that the events of a node are by `seq` and by time. A node that comes with seq 1 again has a new
/// journal: what arrived before belongs to the old one. Events without seq are by time.
void put_in_order(std::vector<StoredEvent>& events);

}  // namespace muster::launcher
