// Choice: a flag's value that is a word out of a closed list. For the rows of flags (*_flags.cc)
// and the grammars of their values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace muster::launcher {

/// kUsage: what is wrong with a value, without the value and the flag's name.
[[nodiscard]] inline Error wrong(std::string text) {
  return Error{Code::kUsage, 0, std::move(text)};
}

template <typename Value>
struct Choice {
  std::string_view name;
  Value value;
};

/// The value of that name. kUsage: none of them, naming all.
template <typename Value, size_t kCount>
Result<Value> choose(std::string_view text, const Choice<Value> (&choices)[kCount]) {
  std::vector<std::string> names;
  for (const auto& choice : choices) {
    if (choice.name == text) return choice.value;
    names.emplace_back(choice.name);
  }
  return wrong("none of " + join(names, ", "));
}

}  // namespace muster::launcher
