// Database: an SQLite file and statements with parameters. It knows nothing of what is in the file.
// Its source is the only one that sees sqlite3.h. For the dashboard's event store.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/fd.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::launcher {

/// What a `?` stands for; a text is borrowed for the call. None: NULL.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string_view>;

/// A row of an answer, valid within the call that gets it. Columns count from 0.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  /// "" also of NULL.
  [[nodiscard]] std::string_view text(int column) const;
  /// 0 also of NULL.
  [[nodiscard]] int64_t integer(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// Every error names the file. kOs with EBUSY: another program writes to it. kOs with ENOSPC: the
/// disk is full, or the file has reached its largest size. kConfig: the file is no database. kOs:
/// anything else.
class Database {
 public:
  /// Opens or creates `path`, with mode 0600 as workers' last lines may be in it. It grows to
  /// `most_bytes`. Whoever opens it for a second time gets kOs with EAGAIN, because what the first
  /// one knows of it would be wrong.
  static Result<std::unique_ptr<Database>> open_file(const std::string& path, int64_t most_bytes);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// One statement, with as many parameters as it has `?`. `sql` is a constant of the program: it
  /// is kept, prepared, for the next time. `take` gets the rows of the answer, until it says false.
  using Take = std::function<bool(const SqlRow&)>;
  Status run(std::string_view sql, std::initializer_list<SqlValue> parameters = {},
             const Take& take = {});
  /// Rows that the last statement inserted, changed or deleted.
  [[nodiscard]] int64_t changed() const;

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Error fail(int code) const;
  Status set_up(int64_t most_bytes);
  Result<sqlite3_stmt*> prepared(std::string_view sql);

  std::string path_;
  UniqueFd
      lock_;  // closed after the database: closing any descriptor of a file drops SQLite's locks
  sqlite3* handle_ = nullptr;
  std::unordered_map<std::string_view, sqlite3_stmt*> statements_;
};

}  // namespace muster::launcher
