#include "launcher/output/fair_reader.h"

namespace muster::launcher {

void FairReader::on_readable(WorkerStream& stream) {
  // A paused stream is told only that its last writer is gone, and that again in every turn: what
  // is left, at most a pipe's capacity, is taken at once.
  if (stream.is_paused()) return drain(stream);
  if (!may_read()) {
    stream.pause();
    waiting_.push_back(&stream);
    return;
  }
  const size_t got = stream.read_once(buffer_);
  const bool small = got < kSmallReadBytes;
  if (stream.is_open() && small && stream.is_read_often(loop_.now())) rest(stream);
}

void FairReader::rest(WorkerStream& stream) {
  stream.pause();
  resting_.push_back(&stream);
  if (!rest_timer_.is_active()) rest_timer_ = loop_.after(kRest, [this] { end_rest(); });
}

void FairReader::end_rest() {
  // A line may lead to anything, also to clear(): nothing is held across a read but the stream
  // read.
  for (size_t left = resting_.size(); left > 0 && !resting_.empty(); --left) {
    WorkerStream* stream = resting_.front();
    resting_.pop_front();
    if (!may_read()) {
      waiting_.push_back(stream);
      continue;
    }
    const size_t got = stream->read_once(buffer_);
    const bool has_more = got == buffer_.size();  // it writes more than a rest's worth
    if (got > 0 && !has_more) {
      rest(*stream);
    } else if (stream->is_open()) {
      stream->resume();
    }
  }
}

void FairReader::on_room() {
  while (!waiting_.empty() && sink_.has_room()) {
    WorkerStream& next = *waiting_.front();
    waiting_.pop_front();
    // One that has more stays paused and goes to the back: to resume it and pause it again would be
    // two system calls per read.
    const size_t got = next.read_once(buffer_);
    if (!next.is_open()) continue;
    if (got >= kFloodBytes) {
      waiting_.push_back(&next);
    } else {
      next.resume();
    }
  }
}

void FairReader::drain(WorkerStream& stream) {
  const bool was_paused = stream.is_paused();
  if (was_paused) {
    std::erase(waiting_, &stream);
    std::erase(resting_, &stream);
  }
  stream.drain(buffer_);
  if (was_paused && stream.is_open()) stream.resume();
}

void FairReader::clear() {
  waiting_.clear();
  resting_.clear();
  rest_timer_.reset();
}

}  // namespace muster::launcher
