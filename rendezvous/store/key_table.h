// KeyTable: the keys of a store and their values. A chained hash table of our own because of its
// memory: one allocation per key with the key inside, about 75 bytes besides key and value, where
// std::unordered_map<std::string, std::string> needs twice that. Knows nothing of waiting or
// commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "rendezvous/store/store_value.h"

namespace muster::rendezvous {

/// Keys are any bytes, the empty key included. All memory is counted on the meter. Growing rehashes
/// the whole table (about 30 ns per key), so one insertion in 2^n is O(keys); everything else is
/// O(1).
class KeyTable {
 public:
  /// `meter` is borrowed for the life of the table.
  explicit KeyTable(MemoryMeter& meter) : meter_(meter) {}
  ~KeyTable() { clear(); }
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  /// Null when there is no such key. The pointer lives until that key is erased.
  [[nodiscard]] Value* find(std::string_view key) const;
  /// An absent key is created with the empty value.
  [[nodiscard]] Value& find_or_create(std::string_view key);
  /// False when there was no such key.
  bool erase(std::string_view key);
  void clear();
  [[nodiscard]] size_t size() const { return size_; }
  /// Calls `visit(key)` for every key, in no particular order.
  template <typename Visit>
  void for_each_key(Visit visit) const {
    for (size_t bucket = 0; bucket < bucket_count_; ++bucket) {
      for (const Entry* entry = buckets_[bucket]; entry != nullptr; entry = next_of(entry)) {
        visit(key_of(entry));
      }
    }
  }

 private:
  struct Entry;
  [[nodiscard]] static const Entry* next_of(const Entry* entry);
  [[nodiscard]] static std::string_view key_of(const Entry* entry);
  [[nodiscard]] Entry** find_link(std::string_view key, uint32_t hash) const;
  void grow();
  void destroy(Entry* entry);

  MemoryMeter& meter_;
  std::unique_ptr<Entry*[]> buckets_;
  size_t bucket_count_ = 0;  // 0 or a power of two
  size_t size_ = 0;
};

}  // namespace muster::rendezvous
