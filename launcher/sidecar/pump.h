// Pump: one target and its place in the journal. It reads what the target has room for, and keeps
// what is settled in a file, so that another sidecar goes on from there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "launcher/sidecar/journal_reader.h"
#include "launcher/sidecar/sidecar_files.h"
#include "launcher/sidecar/target.h"

namespace muster::launcher {

inline constexpr std::string_view kEventGap = "sidecar.gap";
inline constexpr std::string_view kEventSidecarTrouble = "sidecar.trouble";

class Pump {
 public:
  /// `changed` is called from the loop when something was settled. `loop` is borrowed.
  Pump(Loop& loop, const std::string& folder, const std::string& name, std::string shown,
       std::unique_ptr<Target> target, std::function<void()> changed);
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  /// The journal may have more. Reads in this turn of the loop and, if it is much, the next ones;
  /// is_done() is right from now on.
  void poke();

  /// All that stands in the journal was read and is settled.
  [[nodiscard]] bool is_done() const {
    const bool has_read = reader_.at_end() && !later_.is_active() && !settled_.is_active();
    return has_read && target_->is_idle();
  }
  /// The job's end is told in what was read, and no other job has begun behind it.
  [[nodiscard]] bool has_end() const { return has_end_; }
  /// There was a line, of whichever time.
  [[nodiscard]] bool has_lines() const { return read_ > 0 || told_.mark.seq > 0; }
  /// It had something to tell that was not settled when it began.
  [[nodiscard]] bool had_news() const { return had_news_; }
  [[nodiscard]] const std::string& shown() const { return shown_; }
  [[nodiscard]] size_t waiting() const { return target_->waiting(); }

 private:
  void read();
  void take(JournalEvent event);
  void keep(const JournalMark& mark);
  void tell_missed();

  Loop& loop_;
  std::string shown_;
  CursorFile cursor_;
  Cursor told_;  // when it began
  JournalReader reader_;
  std::unique_ptr<Target> target_;
  std::function<void()> changed_;
  uint64_t read_ = 0;
  bool has_end_;
  bool had_news_ = false;
  bool in_trouble_ = false;  // the file could not be written, and that was told
  Timer later_;              // more of the journal
  Timer settled_;            // what follows from it
};

}  // namespace muster::launcher
