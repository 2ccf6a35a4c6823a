#include "base/unguessable.h"

#include <sys/random.h>

#include <array>

namespace muster {

Result<std::string> unguessable_digits() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  // Up to 256 bytes are never cut short.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return os_error("getrandom");
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 0xfU];
  }
  return digits;
}

}  // namespace muster
