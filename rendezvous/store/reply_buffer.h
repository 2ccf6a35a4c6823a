// ReplyBuffer: the answers of one connection that are not sent yet. Small answers are copied, large
// values are referred to. Does no I/O: the connection sends what gather() points at.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rendezvous/store/store_value.h"

namespace muster::rendezvous {

/// From this size on an answer refers to the stored value instead of copying it: about where
/// copying costs more than the extra piece in the send call.
inline constexpr size_t kSharedValueBytes = 16U << 10;

/// Bytes go out in the order in which they were appended. Copied bytes are counted on the meter
/// until the buffer is empty again; shared values count once, however many buffers refer to them.
class ReplyBuffer {
 public:
  /// `meter` is borrowed for the life of the buffer.
  explicit ReplyBuffer(MemoryMeter& meter) : meter_(meter) {}
  ~ReplyBuffer() { clear(); }
  ReplyBuffer(const ReplyBuffer&) = delete;
  ReplyBuffer& operator=(const ReplyBuffer&) = delete;

  void append_u8(uint8_t value);
  void append_u32(uint32_t value);
  void append_i64(int64_t value);
  /// u64 length, then the bytes.
  void append_vector(std::string_view bytes);
  /// The same for a stored value; shares it from kSharedValueBytes on.
  void append_value(const Value& value);

  [[nodiscard]] bool empty() const { return pending_bytes_ == 0; }
  [[nodiscard]] size_t pending_bytes() const { return pending_bytes_; }
  /// How much memory it keeps for the next use.
  [[nodiscard]] size_t capacity_bytes() const {
    return capacity_ + shared_.capacity() * sizeof(Shared);
  }
  /// Points `pieces` at the unsent bytes, in order, as far as there is room. Returns how many are
  /// used. They are valid until the next change of the buffer.
  [[nodiscard]] size_t gather(std::span<iovec> pieces) const;
  /// The first `bytes` (at most pending_bytes()) are sent.
  void consume(size_t bytes);
  void clear();

 private:
  struct Shared {
    size_t position;  // it goes out before copied_[position]
    Value value;
  };
  template <typename Integer>
  void append_integer(Integer value);
  char* make_room(size_t bytes);

  MemoryMeter& meter_;
  std::unique_ptr<char[]> copied_;  // no std::string: it would clear what is overwritten at once
  size_t copied_bytes_ = 0;
  size_t capacity_ = 0;
  std::vector<Shared> shared_;
  size_t copied_sent_ = 0;
  size_t shared_done_ = 0;  // of shared_, how many are sent completely
  size_t shared_sent_ = 0;  // bytes sent of the next one
  size_t pending_bytes_ = 0;
};

}  // namespace muster::rendezvous
