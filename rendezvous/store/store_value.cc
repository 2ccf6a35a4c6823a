#include "rendezvous/store/store_value.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace muster::rendezvous {

struct Value::Block {
  uint32_t references;
  uint32_t capacity;
  [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

namespace {

constexpr size_t kHeaderBytes = 8;
constexpr size_t kMallocOverheadBytes = 8;
constexpr size_t kWorthShrinkingBytes = 4096;

// Room for `size` bytes: what malloc gives away anyway for small ones, an eighth of slack for large
// ones, so that appending byte by byte copies each byte a bounded number of times.
size_t capacity_for(size_t size) {
  constexpr size_t kSmallest = 16;  // malloc hands out 16 n + 8 bytes
  constexpr size_t kSmall = 1024;
  const size_t step = size <= kSmall ? kSmallest : std::bit_floor(size) / 8;  // a power of two
  return (size + step - 1) & ~(step - 1);
}

}  // namespace

void MemoryMeter::give_back(size_t bytes) {
  MUSTER_CHECK(bytes <= used_bytes_);
  used_bytes_ -= bytes;
}

Value& Value::operator=(Value&& other) noexcept {
  MUSTER_CHECK(block_ == nullptr || this == &other);
  std::swap(block_, other.block_);
  std::swap(size_, other.size_);
  return *this;
}

Value::~Value() { MUSTER_CHECK(block_ == nullptr); }

Value Value::of(std::string_view bytes, MemoryMeter& meter) {
  Value value;
  value.set(bytes, meter);
  return value;
}

std::string_view Value::view() const {
  return block_ == nullptr ? std::string_view() : std::string_view(block_->bytes(), size_);
}

void Value::set(std::string_view bytes, MemoryMeter& meter) {
  const bool wasteful = block_ != nullptr && block_->capacity > kWorthShrinkingBytes &&
                        bytes.size() < block_->capacity / 4;
  if (!can_hold(bytes.size()) || wasteful) {
    reset(meter);
    if (bytes.empty()) return;
    allocate(bytes.size(), meter);
  }
  size_ = static_cast<uint32_t>(bytes.size());
  if (!bytes.empty()) std::memcpy(block_->bytes(), bytes.data(), bytes.size());
}

void Value::append(std::string_view bytes, MemoryMeter& meter) {
  if (bytes.empty()) return;
  const size_t size = size_ + bytes.size();
  if (!can_hold(size)) {
    Value grown;
    grown.allocate(size, meter);
    if (size_ != 0) std::memcpy(grown.block_->bytes(), block_->bytes(), size_);
    reset(meter);
    std::swap(block_, grown.block_);
  }
  std::memcpy(block_->bytes() + (size - bytes.size()), bytes.data(), bytes.size());
  size_ = static_cast<uint32_t>(size);
}

Value Value::share() const {
  Value other;
  if (block_ != nullptr) ++block_->references;
  other.block_ = block_;
  other.size_ = size_;
  return other;
}

void Value::reset(MemoryMeter& meter) {
  size_ = 0;
  Block* block = std::exchange(block_, nullptr);
  if (block == nullptr || --block->references > 0) return;
  meter.give_back(block->capacity + kHeaderBytes + kMallocOverheadBytes);
  std::free(block);
}

bool Value::can_hold(size_t size) const {
  return block_ != nullptr && block_->references == 1 && size <= block_->capacity;
}

void Value::allocate(size_t size, MemoryMeter& meter) {
  static_assert(sizeof(Block) == kHeaderBytes);
  MUSTER_CHECK(block_ == nullptr && size <= UINT32_MAX / 2);
  const size_t capacity = capacity_for(size);
  void* memory = std::malloc(kHeaderBytes + capacity);
  MUSTER_CHECK(memory != nullptr);  // the meter's limit is far below what an address space holds
  block_ = new (memory) Block{1, static_cast<uint32_t>(capacity)};
  meter.take(capacity + kHeaderBytes + kMallocOverheadBytes);
}

}  // namespace muster::rendezvous
