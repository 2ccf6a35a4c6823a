#include "launcher/journal/journal.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::launcher {

namespace {

// Between two tries to open a file that could not be written: a burst of events is not slowed down
// by each of them.
constexpr Duration kRetryAfter = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Journal>> Journal::create(JournalOptions options, const Clock& clock) {
  std::unique_ptr<Journal> journal(new Journal(std::move(options), clock));
  const Status opened = journal->open_file();
  if (!opened && opened.error().code == Code::kConfig) return Error(opened.error());
  journal->records_ = true;
  log::set_recorder([raw = journal.get()](const log::Event& event) { raw->take(event); });
  if (!opened) {
    journal->missed(opened.error());
    journal->lost_ = 0;  // nothing has happened yet
  } else if (const size_t cut = journal->file_->cut_bytes(); cut > 0) {
    log::warning(kEventTrouble,
                 {{"cut_bytes", cut}, {"action", "the line was not whole, and is cut off"}});
  }
  return journal;
}

Journal::~Journal() {
  if (!records_) return;
  log::set_recorder({});
  if (lost_ == 0) return;
  retry_at_ = {};
  // The disk may have room again. If not, the log is left to say it.
  if (open_file() && tell_missed()) return;
  log::warning(kEventTrouble, {{"error", trouble_}, {"lost", lost_}, {"action", "none"}});
}

Status Journal::open_file() {
  if (!lock_.is_open()) {
    auto lock = lock_journal(options_.folder);
    if (!lock) return std::move(lock).error();
    lock_ = std::move(*lock);
  }
  auto file = JournalFile::create(options_.folder, options_.max_file_bytes);
  if (!file) return std::move(file).error();
  file_ = std::move(*file);
  return {};
}

// Who removes or empties a journal that is written loses what was in it, and nothing that follows.
void Journal::look_at_file() {
  if (!file_ || !file_->was_changed()) return;
  file_.reset();
  retry_at_ = {};
  log::warning(kEventTrouble, {{"error", "events.jsonl was removed or made shorter"},
                               {"action", "beginning it anew, with the numbers that follow"}});
}

void Journal::take(const log::Event& event) {
  look_at_file();
  if (!file_) {
    if (clock_.now() < retry_at_) return (void)++lost_;
    if (const Status opened = open_file(); !opened) return missed(opened.error());
  }
  Status written = lost_ > 0 ? tell_missed() : Status();
  if (written) written = write(event);
  if (!written) missed(written.error());
}

// An event could not be written. What was written of it is cut off when the file is opened anew.
void Journal::missed(const Error& error) {
  file_.reset();
  ++lost_;
  retry_at_ = clock_.now() + kRetryAfter;
  if (!std::exchange(trouble_, error.text).empty()) return;
  log::warning(kEventTrouble,
               {{"error", error.text}, {"action", "the job goes on, events are counted"}});
}

// The first line after those that are missing.
Status Journal::tell_missed() {
  const std::array<log::Field, 3> fields{log::Field("error", trouble_), log::Field("lost", lost_),
                                         log::Field("action", "recording again")};
  MUSTER_RETURN_IF_ERROR(write({log::Level::kWarning, kEventTrouble, fields}));
  log::warning(kEventTrouble, {fields[0], fields[1], fields[2]});
  lost_ = 0;
  trouble_.clear();
  return {};
}

// The number of a line that was not written is that of the next one.
Status Journal::write(const log::Event& event) {
  last_seq_ = std::max(last_seq_, file_->last_seq());
  const auto line_of = [this](uint64_t seq, const log::Event& said) {
    const std::string id = options_.mark + "-" + std::to_string(seq);
    return journal_line(options_.place, {seq, id, clock_.wall_now(), clock_.now()}, said);
  };
  std::string line = line_of(last_seq_ + 1, event);
  if (file_->is_full(line.size())) {
    auto tally = file_->oldest();
    if (!tally) return std::move(tally).error();
    std::string first;
    if (tally->first_seq > 0) {
      const std::array<log::Field, 3> fields{
          log::Field("first_seq", tally->first_seq), log::Field("last_seq", tally->last_seq),
          log::Field::of_json("events", tally->events_as_json())};
      first = line_of(last_seq_ + 1, {log::Level::kInfo, kEventDropped, fields});
    }
    MUSTER_RETURN_IF_ERROR(file_->rotate(first));
    if (!first.empty()) ++last_seq_;
    line = line_of(last_seq_ + 1, event);
  }
  MUSTER_RETURN_IF_ERROR(file_->append(line));
  ++last_seq_;
  if (reader_) reader_(options_.mark + "-" + std::to_string(last_seq_), line);
  return {};
}

}  // namespace muster::launcher
