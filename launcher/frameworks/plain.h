// The driver of independent programs, which are told nothing of ranks.
#pragma once

#include "launcher/frameworks/driver.h"

namespace muster::launcher {

class PlainDriver final : public FrameworkDriver {
 public:
  [[nodiscard]] FrameworkNeeds needs() const override {
    FrameworkNeeds needs;
    needs.rank_variables = false;
    return needs;
  }
};

}  // namespace muster::launcher
