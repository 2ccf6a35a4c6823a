#include "launcher/progress/line_cursor.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "launcher/progress/progress_report.h"

namespace muster::launcher {

namespace {

constexpr size_t kMostDigits = 15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

double factor_of(char suffix) {
  switch (suffix) {
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

}  // namespace

void FormCursor::skip_spaces() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
}

bool FormCursor::take(std::string_view text) {
  if (!rest_.starts_with(text)) return false;
  rest_.remove_prefix(text.size());
  return true;
}

std::optional<int64_t> FormCursor::take_count() {
  size_t digits = 0;
  int64_t count = 0;
  for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
    if (digits == kMostDigits) return std::nullopt;
    count = 10 * count + (rest_[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  rest_.remove_prefix(digits);
  return count;
}

std::optional<int64_t> FormCursor::take_scaled() {
  if (!is_digit(next())) return std::nullopt;
  const auto number = take_number();
  if (!number || *number < 0) return std::nullopt;
  const double factor = factor_of(next());
  if (factor > 1) rest_.remove_prefix(1);
  const double scaled = *number * factor;
  if (scaled > static_cast<double>(kMaxStep)) return std::nullopt;
  return static_cast<int64_t>(scaled);
}

std::optional<double> FormCursor::take_number() {
  double number = 0;
  const char* const end = rest_.data() + rest_.size();
  const auto [stop, error] = std::from_chars(rest_.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
  return number;
}

std::optional<std::string_view> FormCursor::take_until(char end) {
  const size_t found = rest_.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest_.substr(0, found);
  rest_.remove_prefix(found + 1);
  return taken;
}

}  // namespace muster::launcher
