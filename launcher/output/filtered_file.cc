#include "launcher/output/filtered_file.h"

#include <algorithm>

#include "launcher/output/line_splitter.h"

namespace muster::launcher {

void FilteredFile::offer(std::string_view prefix, std::string_view lines) {
  std::string matching;
  LineCursor cursor(lines);
  while (const size_t bytes = cursor.line_bytes()) {
    const std::string_view line = cursor.take(bytes);
    if (!matches(line)) continue;
    matching += prefix;
    matching += line;
    if (matching.back() != '\n') matching += '\n';
  }
  if (!matching.empty()) file_.write(matching);
}

bool FilteredFile::matches(std::string_view line) const {
  return std::any_of(needles_.begin(), needles_.end(), [line](const std::string& needle) {
    return line.find(needle) != std::string_view::npos;
  });
}

}  // namespace muster::launcher
