// ProgressLines: what the lines of a worker say of how far it is, where a framework writes them in
// a form that is known. Most lines say nothing, and are found out by a look at a few bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/progress/progress_pattern.h"
#include "launcher/progress/progress_report.h"

namespace muster::launcher {

/// Of a line so much is looked at. Those that are known are shorter; a bar may have no end at all.
inline constexpr size_t kMaxProgressLineBytes = 4096;

class ProgressLines {
 public:
  /// Each line is shown to `own` before the forms that are known.
  explicit ProgressLines(std::optional<ProgressPattern> own = {}) : own_(std::move(own)) {}

  /// `line` may have its end, and what moves a cursor. None: it says nothing.
  [[nodiscard]] std::optional<ProgressReport> read(std::string_view line);
  /// The same for each of many lines, which end with '\n' or '\r', but at most for `most` of them.
  /// Returns for how many; with a pattern long lines count as several.
  size_t read_all(std::string_view lines, size_t most,
                  const std::function<void(const ProgressReport&)>& say);

 private:
  [[nodiscard]] std::optional<ProgressReport> read_own(std::string_view line) const;
  std::optional<ProgressReport> read_clean(std::string_view line);
  std::optional<ProgressReport> keras(std::string_view line);

  std::optional<ProgressPattern> own_;
  int64_t epoch_ = 0;   // of Keras, from 1; 0 = none yet
  int64_t epochs_ = 0;  // that there will be
  int64_t length_ = 0;  // of this epoch, in steps; 0 = not known yet
};

}  // namespace muster::launcher
