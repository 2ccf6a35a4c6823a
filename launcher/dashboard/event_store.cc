#include "launcher/dashboard/event_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster::launcher {

namespace {

// "Must": what tells our files from those of other programs (PRAGMA application_id).
constexpr int64_t kApplicationId = 0x4d757374;
constexpr int64_t kSchemaVersion = 2;

constexpr std::string_view kTableOfJobs =
    "CREATE TABLE job(name TEXT PRIMARY KEY, heard_ms INTEGER NOT NULL, usual_gap_ms INTEGER NOT "
    "NULL, began_ms INTEGER NOT NULL) WITHOUT ROWID";
// The body comes last: what is asked of the other columns does not read it.
constexpr std::string_view kTableOfEvents =
    "CREATE TABLE event(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, "
    "node TEXT NOT NULL, name TEXT NOT NULL, time_ms INTEGER NOT NULL, seq INTEGER NOT NULL, worth "
    "INTEGER NOT NULL, body TEXT NOT NULL)";
// Points of progress have a table of their own: there are many, and they may be thinned out.
constexpr std::string_view kTableOfProgress =
    "CREATE TABLE progress(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, "
    "node TEXT NOT NULL, time_ms INTEGER NOT NULL, rank INTEGER NOT NULL, body TEXT NOT NULL)";
constexpr std::string_view kSchema[] = {
    kTableOfJobs,
    kTableOfEvents,
    kTableOfProgress,
    // Reads are by time: with these they need no sorting, for which all bodies would be in memory.
    "CREATE INDEX event_of_job ON event(job, time_ms)",
    "CREATE INDEX progress_of_job ON progress(job, time_ms)",
    "CREATE INDEX progress_of_node ON progress(job, node, time_ms)",
    "PRAGMA application_id = 1299542900",
    "PRAGMA user_version = 2",
};

constexpr int64_t kPageBytes = 4096;      // SQLite's default
constexpr int64_t kMostTries = 4;         // to make room for a batch
constexpr int64_t kLeastBucketMs = 1000;  // a node tells its progress at most so often
// What a batch needs besides its bodies: indices, and pages that are not full.
constexpr int64_t kBatchSlackBytes = 64 << 10;

int64_t bytes_of(const WebhookBatch& batch) {
  size_t bytes = 0;
  for (const WebhookEvent& event : batch.events)
    bytes += event.body.size() + event.id.size() + kMaxWebhookNameBytes;
  return static_cast<int64_t>(bytes);
}

// How many more than the limit may be there, so that not every batch has to look for the oldest.
int64_t with_slack(int64_t limit) { return limit + limit / 10; }

}  // namespace

EventStore::EventStore(std::unique_ptr<Database> database, const EventLimits& limits)
    : database_(std::move(database)), limits_(limits) {}
EventStore::~EventStore() = default;

Result<std::unique_ptr<EventStore>> EventStore::open_file(const std::string& path,
                                                          const EventLimits& limits) {
  auto database = Database::open_file(path, limits.bytes);
  if (!database) return std::move(database).error();
  std::unique_ptr<EventStore> store(new EventStore(*std::move(database), limits));
  // First, as the rest changes the file.
  MUSTER_RETURN_IF_ERROR(store->check_version(path));
  // A commit is a write to the log and no wait for the disk; a crash of the process loses nothing.
  MUSTER_RETURN_IF_ERROR(store->database_->run("PRAGMA journal_mode = WAL"));
  MUSTER_RETURN_IF_ERROR(store->database_->run("PRAGMA synchronous = NORMAL"));
  MUSTER_RETURN_IF_ERROR(store->database_->run("PRAGMA journal_size_limit = 8388608"));
  return store;
}

Status EventStore::check_version(const std::string& path) {
  const auto tables = number_of("SELECT count(*) FROM sqlite_schema");
  if (!tables) return Error(tables.error());
  if (*tables == 0) {
    MUSTER_RETURN_IF_ERROR(database_->run("BEGIN IMMEDIATE"));
    for (const std::string_view sql : kSchema) MUSTER_RETURN_IF_ERROR(database_->run(sql));
    return database_->run("COMMIT");
  }
  const auto application = number_of("PRAGMA application_id");
  if (!application) return Error(application.error());
  if (*application != kApplicationId)
    return Error{Code::kConfig, 0, path + " is the database of another program"};
  const auto version = number_of("PRAGMA user_version");
  if (!version) return Error(version.error());
  if (*version == kSchemaVersion) return {};
  return Error{Code::kConfig, 0,
               fmt::format("{} is a dashboard's file of version {}; this Muster knows version {}",
                           path, *version, kSchemaVersion)};
}

Result<size_t> EventStore::add(const WebhookBatch& batch, int64_t now_ms) {
  for (int64_t tries = 1;; ++tries) {
    auto added = add_once(batch, now_ms);
    if (added) return added;
    (void)database_->run("ROLLBACK");  // an error if SQLite has done it already
    if (added.error().os_errno != ENOSPC || tries == kMostTries) return added;
    const auto made = make_room(batch);
    if (!made || !*made) return added;
  }
}

// Only if it is our own limit that the batch does not fit into: a disk that others have filled does
// not become emptier by what is thrown away here, since the file does not shrink.
Result<bool> EventStore::make_room(const WebhookBatch& batch) {
  const auto pages = number_of("PRAGMA page_count");
  if (!pages) return Error(pages.error());
  const auto unused = number_of("PRAGMA freelist_count");
  if (!unused) return Error(unused.error());
  const int64_t needed = 2 * bytes_of(batch) + kBatchSlackBytes;
  if (needed > limits_.bytes || (*pages - *unused) * kPageBytes + needed < limits_.bytes)
    return false;
  auto dropped = drop_oldest_job(batch.job);
  if (!dropped || *dropped) return dropped;
  const auto events = number_of("SELECT count(*) FROM event WHERE job = ?", {batch.job});
  if (!events) return Error(events.error());
  const auto points = number_of("SELECT count(*) FROM progress WHERE job = ?", {batch.job});
  if (!points) return Error(points.error());
  if (*events + *points == 0) return false;
  MUSTER_RETURN_IF_ERROR(drop_events(batch.job, (*events + 3) / 4));
  MUSTER_RETURN_IF_ERROR(database_->run(
      "DELETE FROM progress WHERE number IN (SELECT number FROM progress WHERE job = ? ORDER BY "
      "time_ms LIMIT ?)",
      {batch.job, (*points + 3) / 4}));
  return true;
}

Result<size_t> EventStore::add_once(const WebhookBatch& batch, int64_t now_ms) {
  MUSTER_RETURN_IF_ERROR(database_->run("BEGIN IMMEDIATE"));
  auto added = insert(batch);
  if (!added) return added;
  MUSTER_RETURN_IF_ERROR(note_job(batch, now_ms, *added > 0));
  if (*added > 0) MUSTER_RETURN_IF_ERROR(trim(batch.job));
  MUSTER_RETURN_IF_ERROR(database_->run("COMMIT"));
  return added;
}

// A gap counts less with each post after it.
Status EventStore::note_job(const WebhookBatch& batch, int64_t now_ms, bool is_new) {
  MUSTER_RETURN_IF_ERROR(
      database_->run("UPDATE job SET usual_gap_ms = max(usual_gap_ms - usual_gap_ms / 16, ?1 - "
                     "heard_ms), heard_ms "
                     "= ?1 WHERE name = ?2",
                     {now_ms, batch.job}));
  if (!is_new || database_->changed() > 0) return {};
  int64_t began_ms = INT64_MAX;
  for (const WebhookEvent& event : batch.events) began_ms = std::min(began_ms, event.time_ms);
  return database_->run(
      "INSERT INTO job(name, heard_ms, usual_gap_ms, began_ms) VALUES(?1, ?2, 0, coalesce((SELECT "
      "min(time_ms) FROM event WHERE job = ?1), ?3))",
      {batch.job, now_ms, began_ms});
}

Result<size_t> EventStore::insert(const WebhookBatch& batch) {
  size_t added = 0;
  for (const WebhookEvent& event : batch.events) {
    if (event.name == kProgressEvent) {
      MUSTER_RETURN_IF_ERROR(database_->run(
          "INSERT OR IGNORE INTO progress(id, job, node, time_ms, rank, body) VALUES(?, ?, ?, ?, "
          "?, ?)",
          {event.id, batch.job, batch.node, event.time_ms, event.rank, event.body}));
    } else {
      MUSTER_RETURN_IF_ERROR(
          database_->run("INSERT OR IGNORE INTO event(id, job, node, name, time_ms, seq, worth, "
                         "body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                         {event.id, batch.job, batch.node, event.name, event.time_ms, event.seq,
                          event.worth, event.body}));
    }
    added += static_cast<size_t>(database_->changed());
    if (!event.was.empty() && event.was != batch.job) {
      MUSTER_RETURN_IF_ERROR(database_->run("UPDATE event SET job = ? WHERE job = ? AND node = ?",
                                            {batch.job, event.was, batch.node}));
      MUSTER_RETURN_IF_ERROR(database_->run(
          "DELETE FROM job WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM event WHERE job = ?1)",
          {event.was}));
    }
  }
  return added;
}

Status EventStore::trim(std::string_view job) {
  MUSTER_RETURN_IF_ERROR(trim_events(job));
  MUSTER_RETURN_IF_ERROR(trim_progress(job));
  for (;;) {
    const auto jobs = number_of("SELECT count(*) FROM job");
    if (!jobs) return Error(jobs.error());
    if (*jobs <= limits_.jobs) return {};
    const auto dropped = drop_oldest_job(job);
    if (!dropped) return Error(dropped.error());
    if (!*dropped) return {};
  }
}

Status EventStore::trim_events(std::string_view job) {
  const auto events = number_of("SELECT count(*) FROM event WHERE job = ?", {job});
  if (!events) return Error(events.error());
  if (*events <= with_slack(limits_.events)) return {};
  return drop_events(job, *events - limits_.events);
}

Status EventStore::drop_events(std::string_view job, int64_t count) {
  return database_->run(
      "DELETE FROM event WHERE number IN (SELECT number FROM event WHERE job = ? ORDER BY worth, "
      "time_ms, number LIMIT ?)",
      {job, count});
}

// One point for each piece of the time stays, of the lowest rank that said something in it; and the
// very first one, so that a curve keeps its beginning.
Status EventStore::trim_progress(std::string_view job) {
  const auto points = number_of("SELECT count(*) FROM progress WHERE job = ?", {job});
  if (!points) return Error(points.error());
  if (*points <= limits_.events) return {};
  const auto first = number_of("SELECT min(time_ms) FROM progress WHERE job = ?", {job});
  if (!first) return Error(first.error());
  const auto last = number_of("SELECT max(time_ms) FROM progress WHERE job = ?", {job});
  if (!last) return Error(last.error());
  const int64_t allowed = std::max<int64_t>(1, limits_.events / 2);
  const int64_t bucket_ms = std::max(kLeastBucketMs, (*last - *first) / allowed + 1);
  return database_->run(
      "DELETE FROM progress WHERE job = ?1 AND number NOT IN (SELECT number FROM (SELECT number, "
      "row_number() OVER (PARTITION BY (time_ms - ?2) / ?3 ORDER BY rank, time_ms DESC, number "
      "DESC) AS place FROM progress WHERE job = ?1) WHERE place = 1 UNION ALL SELECT * FROM "
      "(SELECT "
      "number FROM progress WHERE job = ?1 AND time_ms = ?2 ORDER BY rank, number LIMIT 1))",
      {job, *first, bucket_ms});
}

Status EventStore::drop_job(const std::string& job) {
  MUSTER_RETURN_IF_ERROR(database_->run("DELETE FROM event WHERE job = ?", {job}));
  MUSTER_RETURN_IF_ERROR(database_->run("DELETE FROM progress WHERE job = ?", {job}));
  return database_->run("DELETE FROM job WHERE name = ?", {job});
}

Result<bool> EventStore::drop_oldest_job(std::string_view but) {
  std::optional<std::string> oldest;
  MUSTER_RETURN_IF_ERROR(
      database_->run("SELECT name FROM job WHERE name != ? ORDER BY heard_ms LIMIT 1", {but},
                     [&oldest](const SqlRow& row) {
                       oldest = std::string(row.text(0));
                       return true;
                     }));
  if (!oldest) return false;
  MUSTER_RETURN_IF_ERROR(drop_job(*oldest));
  return true;
}

Result<std::vector<StoredJob>> EventStore::jobs() {
  std::vector<StoredJob> jobs;
  MUSTER_RETURN_IF_ERROR(database_->run(
      "SELECT name, heard_ms, usual_gap_ms, began_ms FROM job ORDER BY heard_ms DESC, name", {},
      [&jobs](const SqlRow& row) {
        jobs.push_back({std::string(row.text(0)), row.integer(1), row.integer(2), row.integer(3)});
        return true;
      }));
  return jobs;
}

Result<std::vector<StoredEvent>> EventStore::events(std::string_view job) {
  std::vector<StoredEvent> events;
  size_t bytes = 0;
  MUSTER_RETURN_IF_ERROR(database_->run(
      "SELECT node, name, time_ms, body, seq, number FROM event WHERE job = ? ORDER "
      "BY time_ms DESC, number DESC",
      {job}, [&events, &bytes](const SqlRow& row) {
        events.push_back({std::string(row.text(0)), std::string(row.text(1)), row.integer(2),
                          std::string(row.text(3)), row.integer(4), row.integer(5)});
        bytes += events.back().body.size();
        return bytes < kMaxReadBytes;
      }));
  put_in_order(events);
  return events;
}

Result<std::vector<StoredProgress>> EventStore::points(std::string_view sql, std::string_view job) {
  std::vector<StoredProgress> points;
  size_t bytes = 0;
  MUSTER_RETURN_IF_ERROR(database_->run(sql, {job}, [&points, &bytes](const SqlRow& row) {
    points.push_back({std::string(row.text(0)), row.integer(1), std::string(row.text(2))});
    bytes += points.back().body.size();
    return bytes < kMaxReadBytes;
  }));
  return points;
}

Result<std::vector<StoredProgress>> EventStore::progress(std::string_view job) {
  auto newest_first = points(
      "SELECT node, time_ms, body FROM progress WHERE job = ? ORDER BY time_ms DESC, number DESC",
      job);
  if (newest_first) std::ranges::reverse(*newest_first);
  return newest_first;
}

Result<std::vector<StoredProgress>> EventStore::last_progress(std::string_view job) {
  return points(
      "SELECT p.node, p.time_ms, p.body FROM (SELECT node, max(time_ms) AS newest FROM progress "
      "WHERE job = ?1 GROUP BY node) AS last JOIN progress AS p ON p.job = ?1 AND p.node = "
      "last.node "
      "AND p.time_ms = last.newest ORDER BY p.node, p.number DESC",
      job);
}

Result<int64_t> EventStore::number_of(std::string_view sql,
                                      std::initializer_list<SqlValue> parameters) {
  int64_t number = 0;
  MUSTER_RETURN_IF_ERROR(database_->run(sql, parameters, [&number](const SqlRow& row) {
    number = row.integer(0);
    return true;
  }));
  return number;
}

}  // namespace muster::launcher
