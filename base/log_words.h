// The words of the log's levels, for whoever writes lines of the same form (the journal).
#pragma once

#include <string_view>

#include "base/log.h"

namespace muster::log {

/// "debug", "info", "warning", "error", "off".
[[nodiscard]] std::string_view word_of(Level level);

}  // namespace muster::log
