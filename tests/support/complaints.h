// What is said of a value that is wrong.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::testing {

struct Wrong {
  const char* text;
  const char* complaint;
};

template <typename T>
std::string complaint(const Result<T>& result) {
  return result ? "accepted" : result.error().text;
}

}  // namespace muster::testing
