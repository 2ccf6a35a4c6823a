// The template before every line of a worker on the console: --log-line-prefix-template. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::launcher {

/// A prefix is cut here: it is repeated on every line, so it bounds what a chunk of empty lines can
/// grow to.
inline constexpr size_t kMaxPrefixBytes = 128;

/// What a template may speak of.
struct WorkerLabel {
  int rank = 0;
  int local_rank = 0;
  std::string role_name;
  std::string node;  ///< short host name
  /// It starts the ranks, whose lines come through it: they have their prefix already.
  bool is_launcher = false;
};

/// `text` with ${role_name}, ${local_rank}, ${rank} and ${hostname} or its other name ${node}
/// replaced; also $name without braces, and $$ for one '$'. Anything else that begins with '$'
/// stays as it is. At most kMaxPrefixBytes, never cut within a UTF-8 sequence. Source:
/// torch.distributed.elastic (2.6 to 2.14), which uses Python's string.Template .safe_substitute;
/// ${node} is ours.
[[nodiscard]] std::string expand_prefix(std::string_view text, const WorkerLabel& worker);

/// The first macro in `text` that is none of those, "${other}" or "$other", or one that is not
/// closed, "${rank"; "" = none. A '$' that begins no name is just that.
[[nodiscard]] std::string_view unknown_macro(std::string_view text);
inline constexpr std::string_view kPrefixMacros =
    "${role_name}, ${local_rank}, ${rank}, ${hostname}, ${node}";

}  // namespace muster::launcher
