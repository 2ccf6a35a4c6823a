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
#include "launcher/dashboard/event_order.h"
#include "launcher/dashboard/webhook.h"

namespace muster::launcher {

/// What is kept. When there is more, the oldest goes, of events those first that are worth least.
struct EventLimits {
  int64_t events = 10000;    ///< of a job; as many points of progress besides
  int64_t jobs = 200;        ///< those heard of last
  int64_t bytes = 1L << 30;  ///< of the file. When it is full, the job silent for longest goes, and
                             ///< of one that is alone the oldest quarter
};

/// Of what is read for one answer. The newest counts.
inline constexpr size_t kMaxReadBytes = 32 << 20;

struct StoredJob {
  std::string name;
  int64_t heard_ms = 0;      ///< when the dashboard took its last event, by its own clock
  int64_t usual_gap_ms = 0;  ///< the longest time between two posts of late
  int64_t began_ms = 0;      ///< of its first event, also when that is not kept any more
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
  /// process, and the last ones may be lost with the machine. Without a new event there is no new
  /// job. Errors: as of Database; ENOSPC: the disk is full, for which nothing is thrown away, or
  /// nothing more could be.
  Result<size_t> add(const WebhookBatch& batch, int64_t now_ms);

  /// The one heard of last first.
  Result<std::vector<StoredJob>> jobs();
  /// As put_in_order() has them.
  Result<std::vector<StoredEvent>> events(std::string_view job);
  /// By time.
  Result<std::vector<StoredProgress>> progress(std::string_view job);
  /// The newest point of each node, of nodes whose points were not thinned out.
  Result<std::vector<StoredProgress>> last_progress(std::string_view job);

 private:
  EventStore(std::unique_ptr<Database> database, const EventLimits& limits);
  Status check_version(const std::string& path);
  Result<size_t> add_once(const WebhookBatch& batch, int64_t now_ms);
  Result<size_t> insert(const WebhookBatch& batch);
  Status note_job(const WebhookBatch& batch, int64_t now_ms, bool is_new);
  Result<bool> make_room(const WebhookBatch& batch);
  Status trim(std::string_view job);
  Status trim_events(std::string_view job);
  Status trim_progress(std::string_view job);
  Status drop_events(std::string_view job, int64_t count);
  Status drop_job(const std::string& job);
  Result<bool> drop_oldest_job(std::string_view but);
  Result<int64_t> number_of(std::string_view sql, std::initializer_list<SqlValue> parameters = {});
  Result<std::vector<StoredProgress>> points(std::string_view sql, std::string_view job);

  const std::unique_ptr<Database> database_;
  const EventLimits limits_;
};

}  // namespace muster::launcher
