#include "launcher/progress/progress_lines.h"

#include <algorithm>
#include <string>

#include "launcher/progress/line_forms.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kEnds = "\r\n";
constexpr size_t kMostDigits = 16;
// With a pattern each so many bytes count as a line more: the slowest one takes 0.2 ms for them.
constexpr size_t kPatternBytes = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool has_controls(std::string_view line) {
  return line.find('\x1b') != std::string_view::npos || line.find('\b') != std::string_view::npos;
}

// Without what moves the cursor or colours: ESC [ … letter, and backspaces.
std::string without_controls(std::string_view line) {
  std::string clean;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\b') continue;
    if (line[i] != '\x1b') {
      clean += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && !((line[i + 1] >= '@' && line[i + 1] <= '~'))) ++i;
    ++i;  // the letter
  }
  return clean;
}

// A line that can say something: what is asked here costs a few nanoseconds, what follows does not.
bool may_speak(std::string_view line) {
  switch (line.front()) {
    case '{':
      return true;
    case '[':
      return line.find('\t') != std::string_view::npos ||
             line.find("iteration ") != std::string_view::npos ||
             line.find("%|") != std::string_view::npos;
    case 'E':
      if (line.starts_with("Epoch ")) return true;
      break;
    case 'i':
      if (line.starts_with("iteration ")) return true;
      break;
    default:
      // "12/100 ", not the date of a log.
      if (is_digit(line.front()) && line.substr(0, kMostDigits).find('/') != std::string_view::npos)
        return true;
  }
  return line.find("%|") != std::string_view::npos || line.find("it [") != std::string_view::npos;
}

}  // namespace

// The whole line or none of it: where it is cut, a number might be.
std::optional<ProgressReport> ProgressLines::read_own(std::string_view line) const {
  line = line.substr(0, line.find_last_not_of(kEnds) + 1);
  if (line.size() > kMaxProgressLineBytes) return std::nullopt;
  return has_controls(line) ? own_->read(without_controls(line)) : own_->read(line);
}

std::optional<ProgressReport> ProgressLines::read(std::string_view line) {
  if (own_)
    if (auto report = read_own(line)) return report;
  line = line.substr(0, kMaxProgressLineBytes);
  const size_t begin = line.find_first_not_of(" \b\r\n");
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin);
  while (kEnds.find(line.back()) != std::string_view::npos) line.remove_suffix(1);
  if (line.front() != '\x1b' && !may_speak(line)) return std::nullopt;
  if (!has_controls(line)) return read_clean(line);
  const std::string clean = without_controls(line);
  const size_t first = clean.find_first_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  return read_clean(std::string_view(clean).substr(first));
}

std::optional<ProgressReport> ProgressLines::read_clean(std::string_view line) {
  switch (line.front()) {
    case '{':
      return line.starts_with("{'") ? read_trainer_dict(line) : read_json_line(line);
    case '[':
      if (auto report = read_xgboost(line)) return report;
      if (auto report = read_megatron(line)) return report;
      break;
    case 'i':
      if (auto report = read_megatron(line)) return report;
      break;
    case 'E':
      if (const auto epoch = read_keras_epoch(line)) {
        epoch_ = epoch->epoch;
        epochs_ = epoch->epochs;
        length_ = 0;
        return std::nullopt;
      }
      break;
    default:
      if (!is_digit(line.front())) break;
      if (auto report = keras(line)) return report;
  }
  return read_tqdm(line);
}

// The steps of an epoch become those of the whole training once both its numbers are known.
std::optional<ProgressReport> ProgressLines::keras(std::string_view line) {
  auto report = read_keras_steps(line);
  if (!report || epoch_ == 0) return report;
  report->epoch = static_cast<double>(epoch_);
  const int64_t length = report->total.value_or(0);
  if (length == 0 || epochs_ > kMaxStep / length) return report;
  // The first bar of an epoch is its own; what is predicted or evaluated in it has another length.
  if (length_ == 0) length_ = length;
  if (length != length_) return std::nullopt;
  report->is_placed = true;
  report->step = (epoch_ - 1) * length + *report->step;
  report->total = epochs_ * length;
  return report;
}

// By two searches that are much faster than one for either end.
size_t ProgressLines::read_all(std::string_view lines, size_t most,
                               const std::function<void(const ProgressReport&)>& say) {
  size_t looked = 0;
  while (!lines.empty() && looked < most) {
    std::string_view row = lines.substr(0, std::min(lines.find('\n'), lines.size() - 1) + 1);
    lines.remove_prefix(row.size());
    while (!row.empty() && looked < most) {
      const std::string_view line = row.substr(0, std::min(row.find('\r'), row.size() - 1) + 1);
      row.remove_prefix(line.size());
      if (const auto report = read(line)) say(*report);
      ++looked;
      if (own_) looked += std::min(line.size(), kMaxProgressLineBytes) / kPatternBytes;
    }
  }
  return looked;
}

}  // namespace muster::launcher
