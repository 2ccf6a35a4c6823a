// Environment: the variables of a process as a value. Only main reads the real one; workers get
// theirs from here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Names to values, sorted by name. Copyable; no connection to the process environment after it was
/// built.
class Environment {
 public:
  Environment() = default;
  /// From an `environ`-like null-terminated array; entries without '=' are ignored, the first of
  /// two equal names wins.
  static Environment from_environ(const char* const* environ);

  /// None when unset; an empty value is a value. The view lives until the variable is changed.
  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return variables_.contains(name); }
  /// Is there a variable whose name begins with `prefix`?
  [[nodiscard]] bool has_any(std::string_view prefix) const;
  void set(std::string_view name, std::string_view value);
  /// "NAME=value", as for exec; without '=' nothing happens.
  void set_entry(std::string_view entry);
  void unset(std::string_view name);
  /// "NAME=value" strings for exec, sorted.
  [[nodiscard]] std::vector<std::string> to_exec_strings() const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& variables() const {
    return variables_;
  }

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

/// Name and value of "NAME=value", views into it: up to the first '=' and behind it. None: no '='.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_entry(
    std::string_view entry);

/// PATH. Where it is not set, folders that every image has: an empty one would mean the working
/// directory.
[[nodiscard]] std::string_view search_path(const Environment& environment);

}  // namespace muster
