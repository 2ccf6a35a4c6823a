// Sink: what waits to be shown on one console descriptor. Whole lines of many writers, never mixed,
// never in front of a reader who does not read for ever. It does not read workers' pipes: output.h
// does, and stops when has_room() says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/console_fd.h"
#include "base/loop.h"
#include "launcher/output/line_queue.h"
#include "launcher/output/line_splitter.h"

namespace muster::launcher {

/// Workers' lines that may wait before their pipes are no longer read: one read of a flood
/// (fair_reader.h). More would only be lag between what happens and what is shown.
inline constexpr size_t kSinkQueueBytes = 256 * 1024;
/// Our own lines that may wait besides, before they are dropped and counted; they may have to let
/// one line of a worker end first.
inline constexpr size_t kOwnLinesBytes = kMaxLineBytes + 256 * 1024;
/// As much left when the reader's pipe is full is a flood.
inline constexpr size_t kFullPipeFloodBytes = 32 * 1024;
/// A reader that took nothing for so long is not slow but gone: from then on lines are dropped and
/// counted, so that training does not wait for a terminal somebody stopped.
inline constexpr Duration kStalledAfter = std::chrono::seconds(10);

/// What could not be shown.
struct Loss {
  uint64_t lines = 0;
  uint64_t bytes = 0;
};

class Sink {
 public:
  /// `loop` is borrowed for the life of the sink; `name` ("stdout") is for messages.
  Sink(Loop& loop, ConsoleFd fd, std::string name);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Queues as LineQueue::append does; written at the end of the turn. Always accepted: the caller
  /// watches has_room().
  void write(const Source& source, std::string_view lines);
  void end_source(const Source& source) { queue_.end_source(source); }
  /// Our own line, with '\n'. Written at once, behind what is queued, so that it survives our
  /// crash; when the reader is slow, it overtakes workers' lines at the next end of one.
  void write_own_line(std::string_view line);

  /// False = stop reading those who write here (back-pressure). Always true while lines are
  /// dropped.
  [[nodiscard]] bool has_room() const { return is_dropping() || queue_.size() < kSinkQueueBytes; }
  /// Nothing waits.
  [[nodiscard]] bool is_drained() const { return queue_.size() == 0; }
  /// Called from the loop whenever there may be room again, or nothing left. One listener; empty =
  /// none. It may write here.
  void set_listener(std::function<void()> changed) { changed_ = std::move(changed); }
  /// Gives up what waits: it is counted as lost. For the end of the program.
  void abandon();

  [[nodiscard]] bool is_terminal() const { return fd_.is_terminal(); }
  /// What is lost so far and why, one line: "stdout: Broken pipe: 12 lines, 340 bytes lost". "" =
  /// nothing.
  [[nodiscard]] std::string problem() const;
  /// Everything that is lost so far.
  [[nodiscard]] const Loss& lost() const { return lost_; }

 private:
  [[nodiscard]] bool is_blocked() const { return stalled_ || stall_timer_.is_active(); }
  [[nodiscard]] bool is_dropping() const { return stalled_ || failed_errno_ != 0; }
  static constexpr int kOurselves = -1;  // in place of a rank
  void count_dropped(int rank, std::string_view lines);
  void schedule_flush();
  void flush();
  void write_pending();
  void wait_until_writable();
  void on_writable();
  void check_stalled();
  void lose_queue();
  void handle_write_error(int error_number);
  void report_dropped();

  Loop& loop_;
  ConsoleFd fd_;
  std::string name_;
  std::function<void()> changed_;

  LineQueue queue_;
  bool stalled_ = false;
  int failed_errno_ = 0;         // the descriptor is of no more use
  int full_errno_ = 0;           // a disk refused bytes; later writes are tried again
  std::map<int, Loss> dropped_;  // by rank, since the last report; kOurselves = our own lines
  Loss lost_;                    // everything, from the start

  bool flush_scheduled_ = false;  // asked at every line, so not of the timer itself
  TimePoint last_progress_;
  Timer flush_timer_;  // due at the end of this turn; a timer, so that it ends with this object
  Timer stall_timer_;  // active while bytes wait for the reader
  Watch watch_;        // active since bytes had to wait; destroyed before fd_ is closed
};

}  // namespace muster::launcher
