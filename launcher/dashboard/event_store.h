// EventStore: the events that sidecars posted, in an SQLite file, each of them once and within
// bounds. What they mean is job_view's; this one knows jobs, nodes, times and the names of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/dashboard/database.h"
#include "launcher/dashboard/webhook.h"

namespace muster::launcher {

/// What is kept. When there is more, the oldest goes.
struct EventLimits {
  int64_t events = 10000;    ///< of a job; as many points of progress besides
  int64_t jobs = 200;        ///< those heard of last
  int64_t bytes = 1L << 30;  ///< of the file. When it is full, the job silent for longest goes
};

/// Of what is read for one answer. The newest counts.
inline constexpr size_t kMaxReadBytes = 32 << 20;

struct StoredJob {
  std::string name;
  int64_t heard_ms = 0;  ///< when the dashboard took its last event, by its own clock
};

/// An event as it was posted, without those called "progress".
struct StoredEvent {
  std::string node;
  std::string name;
  int64_t time_ms = 0;
  std::string body;  ///< JSON object
};

/// A point of progress. `body` as above.
struct StoredProgress {
  std::string node;
  int64_t time_ms = 0;
  std::string body;
};

class EventStore {
 public:
  /// Opens or creates the file. Errors as of Database::open_file(), and kConfig: the file is
  /// another program's, or of another version of this one.
  static Result<std::unique_ptr<EventStore>> open_file(const std::string& path,
                                                       const EventLimits& limits);
  EventStore(const EventStore&) = delete;
  EventStore& operator=(const EventStore&) = delete;
  ~EventStore();

  /// All of the batch or nothing of it; what was there already is passed over. Returns how many
  /// were new. They are on the disk when it returns, as far as the kernel: they outlive this
  /// process, and the last ones may be lost with the machine. Errors: as of Database; ENOSPC:
  /// nothing more could be thrown away.
  Result<size_t> add(const WebhookBatch& batch, int64_t now_ms);

  /// The one heard of last first.
  Result<std::vector<StoredJob>> jobs();
  /// By time; those of one node and one time in the order in which they came.
  Result<std::vector<StoredEvent>> events(std::string_view job);
  /// By time.
  Result<std::vector<StoredProgress>> progress(std::string_view job);
  /// The newest of each node.
  Result<std::vector<StoredProgress>> last_progress(std::string_view job);

 private:
  EventStore(std::unique_ptr<Database> database, const EventLimits& limits);
  Status check_version(const std::string& path);
  Result<size_t> add_once(const WebhookBatch& batch, int64_t now_ms);
  Result<size_t> insert(const WebhookBatch& batch);
  Status trim(std::string_view job);
  Status drop_job(const std::string& job);
  Result<bool> drop_oldest_job(std::string_view but);
  Result<int64_t> number_of(std::string_view sql, std::initializer_list<SqlValue> parameters = {});
  Result<std::vector<StoredProgress>> points(std::string_view sql, std::string_view job);

  const std::unique_ptr<Database> database_;
  const EventLimits limits_;
};

}  // namespace muster::launcher
