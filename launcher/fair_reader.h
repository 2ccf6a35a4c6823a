// FairReader: which stream may read next when they share a sink that is slower than they are. What
// waits, waits in the workers' own pipes: a full pipe stops its writer and nobody else.
#pragma once

#include <deque>
#include <span>

#include "launcher/sink.h"
#include "launcher/worker_stream.h"

namespace muster::launcher {

/// One read: half of a grown pipe. With 64 KiB a flood costs a tenth more CPU (worker and agent are
/// switched twice as often), with 256 KiB no less.
inline constexpr size_t kReadBytes = 128 * 1024;

/// First come, first served, one read of at most the buffer's size each: a stream that has read
/// goes behind all that wait, so one that floods delays another's line by one turn of all streams
/// at most.
class FairReader {
 public:
  /// Both borrowed; `buffer` is used during calls only and may be shared by readers.
  FairReader(Sink& sink, std::span<char> buffer) : sink_(sink), buffer_(buffer) {}

  /// `stream` (borrowed until it is closed or forgotten) can be read: reads it now, or pauses it
  /// until the sink has room and its turn has come.
  void on_readable(WorkerStream& stream);
  /// The sink may have room: reads those that wait.
  void on_room();
  /// Reads what is in the pipe now, room or not: WorkerStream::drain.
  void drain(WorkerStream& stream);
  /// Forgets all that wait.
  void clear() { waiting_.clear(); }

 private:
  Sink& sink_;
  std::span<char> buffer_;
  std::deque<WorkerStream*> waiting_;  // exactly those that are paused
};

}  // namespace muster::launcher
