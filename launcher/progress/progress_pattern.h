// ProgressPattern: the user's own form of a line that says how far a worker is, a regular
// expression. Matching takes time in proportion to the line, whatever the expression. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "launcher/progress/progress_report.h"

namespace muster::launcher {

class ProgressPattern {
 public:
  /// An expression of RE2 with a group (?P<step>…), and with total and epoch or without. kUsage:
  /// anything else.
  static Result<ProgressPattern> parse(std::string_view text);

  /// None: the line does not match, or its step is no whole number.
  [[nodiscard]] std::optional<ProgressReport> read(std::string_view line) const;

 private:
  struct Compiled;
  explicit ProgressPattern(std::shared_ptr<const Compiled> compiled)
      : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;  // copies share it
};

}  // namespace muster::launcher
