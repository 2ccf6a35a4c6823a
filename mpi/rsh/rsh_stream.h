// The two ends of a stream that goes over an RshChannel: a source reads a descriptor as far as the
// receiver gave credit, a sink writes to one and gives credit back. So each stream waits for its
// own reader alone, and the connection is always read: a caller that goes is noticed at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/console_fd.h"
#include "base/fd.h"
#include "base/loop.h"
#include "mpi/rsh/rsh_protocol.h"

namespace muster::mpi {

/// Both objects send through this; from the loop only.
using RshSend = std::function<void(const RshMessage&)>;

/// Of a stream, for who asks why its command ended.
inline constexpr size_t kRshLastWordsBytes = 4096;

class RshSource {
 public:
  /// `loop` is borrowed. Reads nothing yet.
  RshSource(Loop& loop, RshStream stream, RshSend send);
  RshSource(const RshSource&) = delete;
  RshSource& operator=(const RshSource&) = delete;

  /// Reads `fd` from now on, which is non-blocking, or nobody else reads it (a file, say). `ended`
  /// comes once, from the loop, when all of it was sent or after stop().
  void begin(UniqueFd fd, std::function<void()> ended);
  void credit(uint32_t bytes);
  /// Nobody wants the rest: closes the descriptor, whose writer then gets SIGPIPE.
  void stop();
  /// Nobody wants the rest, but the writer shall go on: reads it and throws it away.
  void discard();
  /// No more is expected from any writer: sends what is in the pipe now, and ends.
  void finish();
  [[nodiscard]] bool has_ended() const { return ended_called_; }
  /// The end of what was written so far, at most kRshLastWordsBytes. Takes what is there now.
  [[nodiscard]] const std::string& last_words();

 private:
  void on_readable();
  void remember(std::string_view bytes);
  void arm();
  void end();

  Loop& loop_;
  const RshStream stream_;
  RshSend send_;
  std::function<void()> ended_;
  UniqueFd fd_;
  Watch watch_;  // after fd_: unregistered before it is closed
  Timer ready_;  // for what epoll refuses: files are always ready
  std::string last_words_;
  uint32_t credit_ = kRshWindowBytes;
  bool finishing_ = false;
  bool discarding_ = false;
  bool ended_called_ = false;
};

/// Where a sink writes to. `write` as ConsoleFd::write; `fd` to wait for when it takes no more.
struct RshTarget {
  int fd = -1;
  std::function<ConsoleFd::Written(std::string_view)> write;
  std::function<void()> close;  ///< once, at the end of the stream or when nobody reads it
};

class RshSink {
 public:
  /// `loop` is borrowed.
  RshSink(Loop& loop, RshStream stream, RshSend send);
  RshSink(const RshSink&) = delete;
  RshSink& operator=(const RshSink&) = delete;

  void begin(RshTarget target);
  /// kProtocol: more than there was credit for, or after the end.
  Status data(std::string_view bytes);
  /// The sender has no more: closes when all is written.
  void end();
  /// `idle` comes from the loop, whenever nothing is left to write.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }
  [[nodiscard]] bool is_idle() const { return waiting_.empty(); }

 private:
  void write_some();
  void give_credit(size_t bytes);
  void close();

  Loop& loop_;
  const RshStream stream_;
  RshSend send_;
  RshTarget target_;
  std::function<void()> idle_;
  Watch watch_;
  std::string waiting_;
  uint32_t owed_ = 0;  // written, and not yet given back as credit
  bool ending_ = false;
  bool closed_ = false;
};

/// The pipe's own end, non-blocking, as a target that owns it.
[[nodiscard]] RshTarget pipe_target(UniqueFd write_end);

}  // namespace muster::mpi
