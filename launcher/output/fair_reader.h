// FairReader: which stream may read next when they share a sink that is slower than they are. What
// waits, waits in the workers' own pipes: a full pipe stops its writer and nobody else.
#pragma once

#include <deque>
#include <span>

#include "launcher/output/sink.h"
#include "launcher/output/worker_stream.h"

namespace muster::launcher {

/// One read: half of a grown pipe.
inline constexpr size_t kReadBytes = 256 * 1024;

/// First come, first served, one read of at most the buffer's size each: a stream that has read
/// goes behind all that wait, so one that floods delays another's line by one turn of all streams
/// at most.
class FairReader {
 public:
  /// All borrowed; `buffer` is used during calls only and may be shared by readers.
  FairReader(Loop& loop, Sink& sink, std::span<char> buffer)
      : loop_(loop), sink_(sink), buffer_(buffer) {}

  /// `stream` (borrowed until it is closed or forgotten) can be read: reads it now, or pauses it
  /// until the sink has room and its turn has come.
  void on_readable(WorkerStream& stream);
  /// The sink may have room: reads those that wait.
  void on_room();
  /// Reads what is in the pipe now, room or not: WorkerStream::drain.
  void drain(WorkerStream& stream);
  /// Forgets all that wait or rest.
  void clear();

 private:
  [[nodiscard]] bool may_read() const { return waiting_.empty() && sink_.has_room(); }
  void rest(WorkerStream& stream);
  void end_rest();

  Loop& loop_;
  Sink& sink_;
  std::span<char> buffer_;
  std::deque<WorkerStream*> waiting_;  // for room; those and the resting are exactly the paused
  std::deque<WorkerStream*> resting_;  // until rest_timer_, which is one for all
  Timer rest_timer_;
};

}  // namespace muster::launcher
