#include "base/check.h"

#include <unistd.h>

#include <cstdio>

#include "base/exit_code.h"

namespace muster {

void check_failed(const char* condition, const char* file, int line) noexcept {
  char text[512];
  const int length = std::snprintf(text, sizeof text, "muster: bug: check '%s' failed at %s:%d\n",
                                   condition, file, line);
  // Nothing is left to do about a stderr that takes no more bytes.
  if (length > 0)
    (void)!write(
        STDERR_FILENO, text,
        static_cast<size_t>(length) < sizeof text ? static_cast<size_t>(length) : sizeof text);
  _exit(kExitInternal);
}

}  // namespace muster
