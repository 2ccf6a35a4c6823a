// FilteredFile: the lines of all ranks that hold one of some words, in a file beside the full logs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/output/log_files.h"

namespace muster::launcher {

/// Lines that hold one of `needles` go to one file of all ranks (--duplicate-stdout-filters).
class FilteredFile {
 public:
  FilteredFile(LogFile file, std::vector<std::string> needles)
      : file_(std::move(file)), needles_(std::move(needles)) {}
  /// Writes those of `lines` that match, each with `prefix` and as a line of its own. O(needles *
  /// bytes).
  void offer(std::string_view prefix, std::string_view lines);
  void report_lost() const { file_.report_lost(); }

 private:
  [[nodiscard]] bool matches(std::string_view line) const;

  LogFile file_;
  std::vector<std::string> needles_;
};

}  // namespace muster::launcher
