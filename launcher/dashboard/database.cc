#include "launcher/dashboard/database.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "base/check.h"

// SQLite calls these when a database is opened, so that full-text search, R-trees, JSON functions
// and two virtual tables are there. Nobody here uses them. Debian's library has each in an object
// of its own, which the linker leaves out if the function is found here first: 0.35 MiB of the
// binary.
// NOLINTBEGIN(readability-identifier-naming): SQLite's names
extern "C" {
int sqlite3Fts3Init(sqlite3*);
int sqlite3Fts5Init(sqlite3*);
int sqlite3RtreeInit(sqlite3*);
int sqlite3DbstatRegister(sqlite3*);
int sqlite3StmtVtabInit(sqlite3*);
int sqlite3JsonTableFunctions(sqlite3*);
void sqlite3RegisterJsonFunctions(void);
int sqlite3Fts3Init(sqlite3* /*handle*/) { return SQLITE_OK; }
int sqlite3Fts5Init(sqlite3* /*handle*/) { return SQLITE_OK; }
int sqlite3RtreeInit(sqlite3* /*handle*/) { return SQLITE_OK; }
int sqlite3DbstatRegister(sqlite3* /*handle*/) { return SQLITE_OK; }
int sqlite3StmtVtabInit(sqlite3* /*handle*/) { return SQLITE_OK; }
int sqlite3JsonTableFunctions(sqlite3* /*handle*/) { return SQLITE_OK; }
void sqlite3RegisterJsonFunctions(void) {}
}
// NOLINTEND(readability-identifier-naming)

namespace muster::launcher {

namespace {

// For another program that looks at the file, such as the sqlite3 shell.
// The loop stands still for so long, so it is short; the sidecar posts again.
constexpr int kBusyMs = 100;
constexpr int64_t kPageBytes = 4096;  // SQLite's default

int bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value))
    return sqlite3_bind_int64(statement, at, *integer);
  if (const auto* number = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, at, *number);
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    // The text outlives the statement's run. A null pointer would be NULL.
    return sqlite3_bind_text64(statement, at, text->data() == nullptr ? "" : text->data(),
                               text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, at);
}

// A name such as ":memory:" or "file:x" is that of a file here, and not what SQLite would make of
// it.
std::string plain_path(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// Made here rather than by SQLite, for its mode.
Result<UniqueFd> open_locked(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file.is_open()) return os_error("open '" + path + "'");
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return os_error("flock '" + path + "'");
  return Error{Code::kOs, EAGAIN, path + ": another dashboard has it open"};
}

}  // namespace

std::string_view SqlRow::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

int64_t SqlRow::integer(int column) const { return sqlite3_column_int64(statement_, column); }

Result<std::unique_ptr<Database>> Database::open_file(const std::string& path, int64_t most_bytes) {
  std::unique_ptr<Database> made(new Database(path));
  auto lock = open_locked(path);
  if (!lock) return std::move(lock).error();
  made->lock_ = *std::move(lock);
  // One thread: no mutexes.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (const int code = sqlite3_open_v2(plain_path(path).c_str(), &made->handle_, flags, nullptr);
      code != SQLITE_OK)
    return made->fail(code);
  (void)sqlite3_busy_timeout(made->handle_, kBusyMs);  // fails for a closed database only
  MUSTER_RETURN_IF_ERROR(made->set_up(most_bytes));
  return made;
}

Status Database::set_up(int64_t most_bytes) {
  const std::string sql = fmt::format(
      "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF; PRAGMA max_page_count = {}",
      most_bytes / kPageBytes);
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(code);
  return {};
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) (void)sqlite3_finalize(statement);
  // It could fail if a statement were left. What was committed is in the file either way.
  (void)sqlite3_close_v2(handle_);
}

Error Database::fail(int code) const {
  const int kind = code & 0xff;
  const std::string text = path_ + ": " + sqlite3_errstr(code);
  if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT) return {Code::kConfig, 0, text};
  if (kind == SQLITE_FULL) return {Code::kOs, ENOSPC, text};
  const int number = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  // Some ways to a full disk end as an error of reading or writing.
  if (kind == SQLITE_IOERR && (number == ENOSPC || number == EDQUOT))
    return {Code::kOs, ENOSPC, text};
  return {Code::kOs, kind == SQLITE_BUSY ? EBUSY : 0, text};
}

Result<sqlite3_stmt*> Database::prepared(std::string_view sql) {
  if (const auto known = statements_.find(sql); known != statements_.end()) return known->second;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code == SQLITE_ERROR)
    return Error{Code::kInternal, 0, path_ + ": " + sqlite3_errmsg(handle_)};
  if (code != SQLITE_OK) return fail(code);
  statements_.emplace(sql, statement);
  return statement;
}

Status Database::run(std::string_view sql, std::initializer_list<SqlValue> parameters,
                     const Take& take) {
  const auto statement = prepared(sql);
  if (!statement) return Error(statement.error());
  MUSTER_CHECK(sqlite3_bind_parameter_count(*statement) == static_cast<int>(parameters.size()));
  int code = SQLITE_OK;
  int place = 0;
  for (const SqlValue& value : parameters)
    if (code == SQLITE_OK) code = bind(*statement, ++place, value);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(*statement);
    if (code == SQLITE_ROW && take && !take(SqlRow(*statement))) code = SQLITE_DONE;
  }
  (void)sqlite3_reset(*statement);  // repeats the error of the step
  if (code != SQLITE_DONE) return fail(code);
  return {};
}

int64_t Database::changed() const { return sqlite3_changes64(handle_); }

}  // namespace muster::launcher
