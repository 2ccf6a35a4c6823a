// MUSTER_CHECK: for our own bugs only, never for input, peers or the operating system.
#pragma once

namespace muster {
/// Writes one line to stderr and ends the process with 70 (EX_SOFTWARE).
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
}  // namespace muster

#define MUSTER_CHECK(condition)                                               \
  do {                                                                        \
    if (!(condition)) ::muster::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
