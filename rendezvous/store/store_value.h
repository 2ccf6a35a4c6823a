// MemoryMeter and Value: the bytes a store keeps, counted, and shared between a key and the answers
// that still have to be sent, so that a thousand ranks can read one large value from one copy of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace muster::rendezvous {

/// Counts the memory that clients make a store use: keys, values, queues, waiters, unfinished
/// requests and unsent answers. It never refuses; whoever is about to grow asks fits() first.
class MemoryMeter {
 public:
  explicit MemoryMeter(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void take(size_t bytes) { used_bytes_ += bytes; }
  void give_back(size_t bytes);
  [[nodiscard]] bool fits(size_t bytes) const {
    return used_bytes_ <= limit_bytes_ && bytes <= limit_bytes_ - used_bytes_;
  }
  [[nodiscard]] size_t used_bytes() const { return used_bytes_; }
  [[nodiscard]] size_t limit_bytes() const { return limit_bytes_; }

 private:
  size_t limit_bytes_;
  size_t used_bytes_ = 0;
};

/// A byte string on the heap, reference counted (not atomically: one thread). Eight bytes of
/// overhead and no meter inside, for there may be a million of them: every owner passes the same
/// meter to each call and calls reset() before it lets go (checked). The last reference gives the
/// memory back.
class Value {
 public:
  Value() = default;
  Value(Value&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Value& operator=(Value&& other) noexcept;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value();

  [[nodiscard]] static Value of(std::string_view bytes, MemoryMeter& meter);

  [[nodiscard]] std::string_view view() const;
  [[nodiscard]] size_t size() const { return size_; }
  /// Replaces the bytes; in place when nobody else reads them and they fit without much waste.
  /// `bytes` may not point into this value.
  void set(std::string_view bytes, MemoryMeter& meter);
  /// Adds at the end. Amortised O(bytes): room grows by an eighth.
  void append(std::string_view bytes, MemoryMeter& meter);
  /// A second owner of the same bytes, which from now on never change.
  [[nodiscard]] Value share() const;
  void reset(MemoryMeter& meter);

 private:
  struct Block;
  [[nodiscard]] bool can_hold(size_t size) const;
  void allocate(size_t size, MemoryMeter& meter);

  Block* block_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace muster::rendezvous
