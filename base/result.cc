#include "base/result.h"

#include <cstring>

namespace muster {

Error Error::with_context(std::string_view what) && {
  text.insert(0, ": ");
  text.insert(0, what);
  return std::move(*this);
}

std::string errno_text(int os_errno) {
  const char* words = strerrordesc_np(os_errno);
  return words != nullptr ? words : "error " + std::to_string(os_errno);
}

Error os_error(std::string_view what, int os_errno) {
  Error error{Code::kOs, os_errno, std::string(what)};
  error.text += ": ";
  error.text += errno_text(os_errno);
  return error;
}

}  // namespace muster
