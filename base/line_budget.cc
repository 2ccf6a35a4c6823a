#include "base/line_budget.h"

#include <utility>

namespace muster {

std::optional<int> LineBudget::take() {
  const TimePoint now = loop_.now();
  if (now >= window_ends_) {
    window_ends_ = now + kLineWindow;
    told_ = 0;
  }
  if (++told_ <= kMaxLines) return std::exchange(untold_, 0);
  ++untold_;
  return std::nullopt;
}

}  // namespace muster
