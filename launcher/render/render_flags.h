// The flags of `muster render`, one row each: how it is called, what its value means, which field
// of RenderRequest it fills. --help is made from the rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/render/render_request.h"

namespace muster::launcher {

struct RenderFlag {
  std::string_view name;              ///< long name, without the leading dashes
  char letter = 0;                    ///< short name; 0 = none
  std::string_view placeholder = {};  ///< of the value; "" = a switch, which takes =true and =false
  Status (*fill)(RenderRequest& request, std::string_view text) = nullptr;
  std::string_view help = {};  ///< one line
};

struct RenderFlagGroup {
  std::string_view title;
  std::span<const RenderFlag> rows;
};

[[nodiscard]] std::span<const RenderFlagGroup> render_flag_groups();
[[nodiscard]] std::string render_help();

/// Words behind the first that is no flag, or behind --, are the program's. kUsage: the flag, the
/// value and its range.
Result<RenderRequest> parse_render_flags(std::span<const std::string> words);

}  // namespace muster::launcher
