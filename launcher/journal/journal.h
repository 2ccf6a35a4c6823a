// Journal: what happened on this node, kept in a folder (docs/observability.md). It records the
// events of the log (base/log.h), whatever the log shows. Nothing that goes wrong with it stops the
// job: events that cannot be written are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "launcher/journal/journal_file.h"
#include "launcher/journal/journal_line.h"

namespace muster::launcher {

/// What the journal says of itself, in the log as well: error, lost (events), cut_bytes, action.
inline constexpr std::string_view kEventTrouble = "journal.trouble";

struct JournalOptions {
  std::string folder;  ///< made if it is not there
  JournalPlace place;
  std::string mark;  ///< begins the id of every line: no other agent has the same
  size_t max_file_bytes = kMaxJournalFileBytes;
};

class Journal {
 public:
  /// Takes the folder for itself and records from now on. `clock` is borrowed. kConfig: another
  /// agent writes there, or that cannot be a journal's folder. Whatever else is wrong is logged.
  static Result<std::unique_ptr<Journal>> create(JournalOptions options, const Clock& clock);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Records no more. Logs how many events are missing.
  ~Journal();

  /// Called with each line that was written, and its id; empty = nobody reads along.
  void on_line(std::function<void(std::string_view id, std::string_view line)> reader) {
    reader_ = std::move(reader);
  }
  /// Of that job and node, from now on.
  void set_place(JournalPlace place) { options_.place = std::move(place); }

 private:
  Journal(JournalOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}
  Status open_file();
  void take(const log::Event& event);
  void missed(const Error& error);
  Status write(const log::Event& event);
  Status tell_missed();
  void look_at_file();

  JournalOptions options_;
  const Clock& clock_;
  std::function<void(std::string_view, std::string_view)> reader_;
  UniqueFd lock_;
  bool records_ = false;
  std::unique_ptr<JournalFile> file_;  // null = it could not be opened or written
  uint64_t last_seq_ = 0;              // that this agent has written, whatever is on the disk
  uint64_t lost_ = 0;                  // events since it was last written
  std::string trouble_;                // why
  TimePoint retry_at_;                 // the file is not opened before
};

}  // namespace muster::launcher
