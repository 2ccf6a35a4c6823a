// Field: a place in a manifest, which knows its path, so that whatever is wrong there names it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::launcher {

/// Borrows the document, which outlives it. Errors are kUsage: "spec.mlPolicy.numNodes: 'many' must
/// be a number from 1 to 100000".
class Field {
 public:
  /// `path`: "" is the document itself. `value` null = there is no such field.
  Field(const nlohmann::json* value, std::string path) : value_(value), path_(std::move(path)) {}

  /// A field of this object; not there too if this is none.
  [[nodiscard]] Field operator[](std::string_view name) const;
  /// That at `path` from here, as path() writes it: "spec.jobs[0].name".
  [[nodiscard]] Field at(std::string_view path) const;
  /// The items of this list; empty if it is not there. Error: it is something else.
  [[nodiscard]] Result<std::vector<Field>> items() const;

  [[nodiscard]] bool is_there() const;  ///< and not null
  [[nodiscard]] const std::string& path() const { return path_; }
  /// null if it is not there.
  [[nodiscard]] const nlohmann::json& value() const;

  /// None: not there. Error: not a text. A number or a boolean counts as one, as it is written.
  [[nodiscard]] Result<std::optional<std::string>> text() const;
  /// None: not there. Error: not a whole number from `least` to `most`; digits in quotes are one.
  [[nodiscard]] Result<std::optional<int>> number(int least, int most) const;
  /// None: not there. Error: neither true nor false.
  [[nodiscard]] Result<std::optional<bool>> boolean() const;
  /// None: not there. Error: none of them.
  [[nodiscard]] Result<std::optional<std::string>> one_of(
      std::span<const std::string_view> words) const;
  /// The texts of this list; empty if it is not there.
  [[nodiscard]] Result<std::vector<std::string>> words() const;

  /// "PATH: 'value' must be WHAT".
  [[nodiscard]] Error wrong(std::string_view what) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace muster::launcher
