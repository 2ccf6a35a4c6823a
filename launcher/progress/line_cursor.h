// FormCursor: reads a line from left to right, piece by piece. For line_forms.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::launcher {

class FormCursor {
 public:
  explicit FormCursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  void skip_spaces();
  /// Whether `text` stood there; it is passed then.
  bool take(std::string_view text);
  /// Digits, at most 15; none = there is no digit.
  std::optional<int64_t> take_count();
  /// As take_count(), with a fraction and k, M, G or T behind it, as tqdm writes with unit_scale.
  std::optional<int64_t> take_scaled();
  /// A number as Python and C print it; none = there is none, or it is not finite.
  std::optional<double> take_number();
  /// What stands before `end`, which is passed. None: it does not come.
  std::optional<std::string_view> take_until(char end);

 private:
  std::string_view rest_;
};

}  // namespace muster::launcher
