#include "launcher/fair_reader.h"

namespace muster::launcher {

void FairReader::on_readable(WorkerStream& stream) {
  // A paused stream is told only that its last writer is gone, and that again in every turn: what
  // is left, at most a pipe's capacity, is taken at once.
  if (stream.is_paused()) return drain(stream);
  if (waiting_.empty() && sink_.has_room()) {
    (void)stream.read_once(buffer_);
    return;
  }
  stream.pause();
  waiting_.push_back(&stream);
}

void FairReader::on_room() {
  while (!waiting_.empty() && sink_.has_room()) {
    WorkerStream& next = *waiting_.front();
    waiting_.pop_front();
    // One that has more stays paused and goes to the back: to resume it and pause it again would be
    // two system calls per read.
    if (next.read_once(buffer_) >= kFloodBytes) {
      waiting_.push_back(&next);
    } else if (next.is_open()) {
      next.resume();
    }
  }
}

void FairReader::drain(WorkerStream& stream) {
  const bool was_paused = stream.is_paused();
  if (was_paused) std::erase(waiting_, &stream);
  stream.drain(buffer_);
  if (was_paused && stream.is_open()) stream.resume();
}

}  // namespace muster::launcher
