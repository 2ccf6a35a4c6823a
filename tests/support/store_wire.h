// Builders for requests of the store protocol, written independently of the decoder under test:
// they follow the byte layout as it was captured from real clients.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace muster::testing::wire {

inline std::string u32(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string u64(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string i64(int64_t value) { return u64(static_cast<uint64_t>(value)); }
inline std::string text(std::string_view bytes) { return u64(bytes.size()) + std::string(bytes); }
inline std::string list(std::initializer_list<std::string_view> items) {
  std::string out = u64(items.size());
  for (const auto item : items) out += text(item);
  return out;
}
inline std::string byte(int value) { return std::string(1, static_cast<char>(value)); }

/// The current numbering (PyTorch 2.2 and later).
inline const std::string kHello = byte(0) + std::string("\xCE\xF7\x85\x3C", 4);
inline std::string set(std::string_view key, std::string_view value) {
  return byte(1) + text(key) + text(value);
}
inline std::string compare_set(std::string_view key, std::string_view expected,
                               std::string_view desired) {
  return byte(2) + text(key) + text(expected) + text(desired);
}
inline std::string get(std::string_view key) { return byte(3) + text(key); }
inline std::string add(std::string_view key, int64_t delta) {
  return byte(4) + text(key) + i64(delta);
}
inline std::string check(std::initializer_list<std::string_view> keys) {
  return byte(5) + list(keys);
}
inline std::string wait_for(std::initializer_list<std::string_view> keys) {
  return byte(6) + list(keys);
}
inline std::string num_keys() { return byte(7); }
inline std::string delete_key(std::string_view key) { return byte(8) + text(key); }
inline std::string append(std::string_view key, std::string_view value) {
  return byte(9) + text(key) + text(value);
}
inline std::string multi_get(std::initializer_list<std::string_view> keys) {
  return byte(10) + list(keys);
}
inline std::string multi_set(std::initializer_list<std::string_view> keys_and_values) {
  std::string out = byte(11) + u64(keys_and_values.size() / 2);
  for (const auto item : keys_and_values) out += text(item);
  return out;
}
inline std::string cancel_wait() { return byte(12); }
inline std::string ping(uint32_t nonce) { return byte(13) + u32(nonce); }
inline std::string queue_push(std::string_view key, std::string_view value) {
  return byte(14) + text(key) + text(value);
}
inline std::string queue_pop(std::string_view key) { return byte(15) + text(key); }
inline std::string queue_length(std::string_view key) { return byte(16) + text(key); }
inline std::string list_keys() { return byte(17); }
inline std::string barrier(std::string_view key, int64_t world_size) {
  return byte(18) + text(key) + i64(world_size);
}

/// The answers.
inline const std::string kStop = byte(0);
inline const std::string kCanceled = byte(1);

}  // namespace muster::testing::wire
