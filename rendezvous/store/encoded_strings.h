// EncodedStrings: a list of byte strings as it stands in a store request, read in place without
// copying. Made by store_protocol.cc, iterated by the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace muster::rendezvous {

/// Each string is a u64 length (host order, little-endian) and that many bytes. Whoever makes one
/// has checked every length against the bytes: iterating checks nothing.
class EncodedStrings {
 public:
  EncodedStrings() = default;
  EncodedStrings(size_t count, std::string_view encoded) : count_(count), encoded_(encoded) {}

  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    [[nodiscard]] std::string_view operator*() const {
      return rest_.substr(sizeof(uint64_t), length());
    }
    Iterator& operator++() {
      rest_.remove_prefix(sizeof(uint64_t) + length());
      return *this;
    }
    [[nodiscard]] bool operator==(const Iterator& other) const {
      return rest_.size() == other.rest_.size();
    }

   private:
    [[nodiscard]] uint64_t length() const {
      uint64_t bytes = 0;
      std::memcpy(&bytes, rest_.data(), sizeof bytes);
      return bytes;
    }
    std::string_view rest_;
  };

  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] Iterator begin() const { return Iterator(encoded_); }
  [[nodiscard]] Iterator end() const { return Iterator({}); }

 private:
  size_t count_ = 0;
  std::string_view encoded_;
};

}  // namespace muster::rendezvous
