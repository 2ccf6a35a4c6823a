#include "launcher/dashboard/event_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::string_view kProgress = "progress";
// "Must": what tells our files from those of other programs (PRAGMA application_id).
constexpr int64_t kApplicationId = 0x4d757374;
constexpr int64_t kSchemaVersion = 1;

constexpr std::string_view kJobTable =
    "CREATE TABLE job(name TEXT PRIMARY KEY, heard_ms INTEGER NOT NULL) WITHOUT ROWID";
constexpr std::string_view kEventTable =
    "CREATE TABLE event(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, "
    "node TEXT NOT NULL, name TEXT NOT NULL, time_ms INTEGER NOT NULL, body TEXT NOT NULL)";
// Points of progress have a table of their own: there are many, and they may be thinned out.
constexpr std::string_view kProgressTable =
    "CREATE TABLE progress(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, "
    "node TEXT NOT NULL, time_ms INTEGER NOT NULL, body TEXT NOT NULL)";
constexpr std::string_view kSchema[] = {
    kJobTable,
    kEventTable,
    kProgressTable,
    "CREATE INDEX event_of_job ON event(job)",
    "CREATE INDEX progress_of_job ON progress(job, node, time_ms)",
    "PRAGMA application_id = 1299542900",
    "PRAGMA user_version = 1",
};

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
  for (;;) {
    auto added = add_once(batch, now_ms);
    if (added) return added;
    (void)database_->run("ROLLBACK");  // an error if SQLite has done it already
    if (added.error().os_errno != ENOSPC) return added;
    const auto dropped = drop_oldest_job(batch.job);
    if (!dropped || !*dropped) return added;
  }
}

Result<size_t> EventStore::add_once(const WebhookBatch& batch, int64_t now_ms) {
  MUSTER_RETURN_IF_ERROR(database_->run("BEGIN IMMEDIATE"));
  MUSTER_RETURN_IF_ERROR(database_->run(
      "INSERT INTO job(name, heard_ms) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET heard_ms = "
      "excluded.heard_ms",
      {batch.job, now_ms}));
  auto added = insert(batch);
  if (!added) return added;
  if (*added > 0) MUSTER_RETURN_IF_ERROR(trim(batch.job));
  MUSTER_RETURN_IF_ERROR(database_->run("COMMIT"));
  return added;
}

Result<size_t> EventStore::insert(const WebhookBatch& batch) {
  size_t added = 0;
  for (const WebhookEvent& event : batch.events) {
    if (event.name == kProgress) {
      MUSTER_RETURN_IF_ERROR(database_->run(
          "INSERT OR IGNORE INTO progress(id, job, node, time_ms, body) VALUES(?, ?, ?, ?, ?)",
          {event.id, batch.job, batch.node, event.time_ms, event.body}));
    } else {
      MUSTER_RETURN_IF_ERROR(
          database_->run("INSERT OR IGNORE INTO event(id, job, node, name, time_ms, body) "
                         "VALUES(?, ?, ?, ?, ?, ?)",
                         {event.id, batch.job, batch.node, event.name, event.time_ms, event.body}));
    }
    added += static_cast<size_t>(database_->changed());
  }
  return added;
}

Status EventStore::trim(std::string_view job) {
  const auto events = number_of("SELECT count(*) FROM event WHERE job = ?", {job});
  if (!events) return Error(events.error());
  if (*events > with_slack(limits_.events)) {
    MUSTER_RETURN_IF_ERROR(database_->run(
        "DELETE FROM event WHERE number IN (SELECT number FROM event WHERE job = ? ORDER BY number "
        "LIMIT ?)",
        {job, *events - limits_.events}));
  }
  const auto points = number_of("SELECT count(*) FROM progress WHERE job = ?", {job});
  if (!points) return Error(points.error());
  if (*points > limits_.events) {
    // Every other point of each node, so that a curve keeps its beginning. The last one stays.
    MUSTER_RETURN_IF_ERROR(
        database_->run("DELETE FROM progress WHERE number IN (SELECT number FROM (SELECT number, "
                       "row_number() OVER "
                       "(PARTITION BY node ORDER BY time_ms DESC) AS place FROM progress WHERE job "
                       "= ?) WHERE place % "
                       "2 = 0)",
                       {job}));
  }
  const auto jobs = number_of("SELECT count(*) FROM job");
  if (!jobs) return Error(jobs.error());
  if (*jobs <= limits_.jobs) return {};
  const auto dropped = drop_oldest_job(job);
  if (!dropped) return Error(dropped.error());
  return {};
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
  MUSTER_RETURN_IF_ERROR(
      database_->run("SELECT name, heard_ms FROM job ORDER BY heard_ms DESC, name", {},
                     [&jobs](const SqlRow& row) {
                       jobs.push_back({std::string(row.text(0)), row.integer(1)});
                       return true;
                     }));
  return jobs;
}

Result<std::vector<StoredEvent>> EventStore::events(std::string_view job) {
  std::vector<StoredEvent> events;
  size_t bytes = 0;
  MUSTER_RETURN_IF_ERROR(
      database_->run("SELECT node, name, time_ms, body FROM event WHERE job = ? ORDER BY time_ms "
                     "DESC, number DESC",
                     {job}, [&events, &bytes](const SqlRow& row) {
                       events.push_back({std::string(row.text(0)), std::string(row.text(1)),
                                         row.integer(2), std::string(row.text(3))});
                       bytes += events.back().body.size();
                       return bytes < kMaxReadBytes;
                     }));
  std::ranges::reverse(events);
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
  // SQLite takes the other columns from the row that has the maximum.
  return points(
      "SELECT node, max(time_ms), body FROM progress WHERE job = ? GROUP BY node ORDER BY node",
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
