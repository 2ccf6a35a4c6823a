// WorkerStream: one stream of one worker that passes through us: pipe -> log file, console,
// filtered file, and the last bytes kept for the crash record. When it may read is output.h's
// decision.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "launcher/output/filtered_file.h"
#include "launcher/output/line_splitter.h"
#include "launcher/output/log_files.h"
#include "launcher/output/sink.h"

namespace muster::launcher {

/// Capacity of the pipe of a worker that floods; others keep the kernel's 64 KiB. Also bounds what
/// drain() takes.
inline constexpr size_t kGrownPipeBytes = 512 * 1024;
/// One read of so much is a flood: half of what a new pipe holds.
inline constexpr size_t kFloodBytes = 32 * 1024;

/// A stream that has little to read, but often, kReadsPerRest times within kRest, rests for so
/// long: what a flood of single lines writes meanwhile is taken in one piece, for a wake-up costs
/// worker and agent more than a line. Only in such a flood a line may come later, by kRest.
inline constexpr Duration kRest = std::chrono::milliseconds(1);
inline constexpr int kReadsPerRest = 4;              ///< Python's print() makes two writes
inline constexpr size_t kSmallReadBytes = 8 * 1024;  ///< reading more is worth a wake-up

/// What is kept of a stream for the crash record; a termination message is 4 KiB at most.
inline constexpr size_t kRecentBytes = 8 * 1024;
inline constexpr size_t kMaxLastLines = 50;  ///< a Python traceback through a framework or two

/// The last lines of `text` that are not blank, without their endings: at most kMaxLastLines out of
/// the last kRecentBytes. A line that was cut at the front is left out unless it is the only one.
[[nodiscard]] std::vector<std::string> last_lines_of(std::string_view text);

class WorkerStream {
 public:
  /// `sink` and `filtered` are borrowed for the life of the stream; null = it is shown to nobody,
  /// no file. `pipe` is non-blocking.
  WorkerStream(Source source, Sink* sink, UniqueFd pipe, std::optional<LogFile> file,
               FilteredFile* filtered);
  WorkerStream(const WorkerStream&) = delete;
  WorkerStream& operator=(const WorkerStream&) = delete;

  /// `readable` is called whenever there is something to read, or the last writer is gone. kOs.
  Status watch(Loop& loop, std::function<void()> readable);
  /// `passed` gets whole lines as next_block() gives them, none before its end; empty = nobody.
  void set_listener(std::function<void(std::string_view lines)> passed) {
    passed_ = std::move(passed);
  }
  /// Stops and resumes calling; the end of the last writer is told even then.
  void pause();
  void resume();
  [[nodiscard]] bool is_paused() const { return paused_; }
  /// False after the end of the stream.
  [[nodiscard]] bool is_open() const { return pipe_.is_open(); }

  /// To be asked once after each small read: were there kReadsPerRest within kRest?
  bool is_read_often(TimePoint now);
  /// Reads at most once, at most `buffer`, and passes it on; of a terminal, until nothing is there.
  /// Returns how much.
  size_t read_once(std::span<char> buffer);
  /// Passes on what is in the pipe now, without waiting for more: a process that still holds it
  /// open changes nothing. At most the capacity of a pipe, whatever the sink's queue holds.
  void drain(std::span<char> buffer);
  /// The end: what was unfinished is passed on as it is. Idempotent.
  void close();

  /// The last bytes, at most 2 * kRecentBytes.
  [[nodiscard]] std::string_view recent() const { return recent_; }

 private:
  void grow_pipe();
  void take(std::string_view chunk);
  void pass_on(std::string_view lines);
  void await_end_of_line();
  void show_unfinished();
  void remember(std::string_view chunk);

  const Source source_;
  Sink* sink_;
  UniqueFd pipe_;
  std::optional<LogFile> file_;
  FilteredFile* filtered_;
  std::function<void(std::string_view)> passed_;
  LineSplitter splitter_;
  size_t shown_bytes_ = 0;  // of the unfinished line
  std::string recent_;
  bool paused_ = false;
  bool pipe_is_grown_ = false;
  TimePoint reads_since_;
  int reads_ = 0;         // since then
  Loop* loop_ = nullptr;  // once it is watched
  TimePoint last_read_;
  Timer unfinished_timer_;  // active while a line has no end, or had none when it was armed
  Watch watch_;             // destroyed before pipe_ is closed
};

}  // namespace muster::launcher
