#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace muster {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kPadding = '=';
constexpr size_t kGroupBytes = 3;
constexpr size_t kGroupDigits = 4;
constexpr unsigned kDigitBits = 6;

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + kGroupBytes - 1) / kGroupBytes * kGroupDigits);
  for (size_t at = 0; at < bytes.size(); at += kGroupBytes) {
    const std::string_view part = bytes.substr(at, kGroupBytes);
    uint32_t group = 0;
    for (size_t i = 0; i < kGroupBytes; ++i)
      group = group << 8 | (i < part.size() ? static_cast<uint8_t>(part[i]) : 0U);
    for (size_t i = 0; i < kGroupDigits; ++i) {
      const auto shift = static_cast<unsigned>(kGroupDigits - 1 - i) * kDigitBits;
      text += i <= part.size() ? kDigits[group >> shift & 0x3f] : kPadding;
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % kGroupDigits != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == kPadding)
    ++padding;
  std::string bytes;
  bytes.reserve(text.size() / kGroupDigits * kGroupBytes);
  uint32_t bits = 0;
  unsigned held = 0;
  for (const char digit : text.substr(0, text.size() - padding)) {
    const size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << kDigitBits | static_cast<uint32_t>(value);
    held += kDigitBits;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
    bits &= (1U << held) - 1;
  }
  if (bits != 0) return std::nullopt;
  return bytes;
}

}  // namespace muster
