// Flag values that are a word out of a closed list. For the files that parse values of flags.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace muster::launcher {

/// kUsage; whoever knows the flag puts its name in front.
inline Error wrong(std::string text) { return Error{Code::kUsage, 0, std::move(text)}; }

template <typename Value>
struct Choice {
  std::string_view name;
  Value value;
};

/// kUsage: "none of a, b".
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
