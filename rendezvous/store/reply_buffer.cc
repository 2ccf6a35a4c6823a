#include "rendezvous/store/reply_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace muster::rendezvous {

namespace {
constexpr size_t kFirstCapacityBytes = 120;
}

template <typename Integer>
void ReplyBuffer::append_integer(Integer value) {
  std::memcpy(make_room(sizeof value), &value, sizeof value);
}

void ReplyBuffer::append_u8(uint8_t value) { append_integer(value); }
void ReplyBuffer::append_u32(uint32_t value) { append_integer(value); }
void ReplyBuffer::append_i64(int64_t value) { append_integer(value); }

void ReplyBuffer::append_vector(std::string_view bytes) {
  const uint64_t size = bytes.size();
  char* room = make_room(sizeof size + size);
  std::memcpy(room, &size, sizeof size);
  std::copy(bytes.begin(), bytes.end(), room + sizeof size);
}

void ReplyBuffer::append_value(const Value& value) {
  if (value.size() < kSharedValueBytes) return append_vector(value.view());
  append_i64(static_cast<int64_t>(value.size()));
  shared_.push_back({copied_bytes_, value.share()});
  pending_bytes_ += value.size();
}

// Counts `bytes` more as appended and returns where they go.
char* ReplyBuffer::make_room(size_t bytes) {
  const size_t needed = copied_bytes_ + bytes;
  if (needed > capacity_) {
    capacity_ = std::max({needed, 2 * capacity_, kFirstCapacityBytes});
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::copy_n(copied_.get(), copied_bytes_, larger.get());
    copied_ = std::move(larger);
  }
  char* room = copied_.get() + copied_bytes_;
  copied_bytes_ = needed;
  pending_bytes_ += bytes;
  meter_.take(bytes);
  return room;
}

size_t ReplyBuffer::gather(std::span<iovec> pieces) const {
  size_t used = 0;
  const auto add = [&pieces, &used](const char* bytes, size_t size) {
    if (size == 0 || used == pieces.size()) return;
    pieces[used++] = {const_cast<char*>(bytes), size};  // iovec serves reading and writing alike
  };
  size_t copied_at = copied_sent_;
  size_t skip = shared_sent_;
  for (size_t i = shared_done_; i < shared_.size() && used < pieces.size(); ++i) {
    add(copied_.get() + copied_at, shared_[i].position - copied_at);
    copied_at = shared_[i].position;
    add(shared_[i].value.view().data() + skip, shared_[i].value.size() - skip);
    skip = 0;
  }
  add(copied_.get() + copied_at, copied_bytes_ - copied_at);
  return used;
}

void ReplyBuffer::consume(size_t bytes) {
  MUSTER_CHECK(bytes <= pending_bytes_);
  pending_bytes_ -= bytes;
  if (pending_bytes_ == 0) return clear();
  while (bytes > 0) {
    const bool more_shared = shared_done_ < shared_.size();
    const size_t copied_end = more_shared ? shared_[shared_done_].position : copied_bytes_;
    const size_t copied = std::min(bytes, copied_end - copied_sent_);
    copied_sent_ += copied;
    bytes -= copied;
    if (!more_shared) continue;
    Value& value = shared_[shared_done_].value;
    const size_t shared = std::min(bytes, value.size() - shared_sent_);
    shared_sent_ += shared;
    bytes -= shared;
    if (copied_sent_ < copied_end || shared_sent_ < value.size()) continue;
    value.reset(meter_);
    ++shared_done_;
    shared_sent_ = 0;
  }
}

void ReplyBuffer::clear() {
  for (Shared& shared : shared_) shared.value.reset(meter_);
  meter_.give_back(copied_bytes_);
  shared_.clear();
  copied_bytes_ = copied_sent_ = shared_done_ = shared_sent_ = pending_bytes_ = 0;
}

}  // namespace muster::rendezvous
