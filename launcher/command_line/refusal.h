// Why nothing was started, in the form in which the log would have come.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace muster::launcher {

/// What says which form that is: --log-format among the words, MUSTER_LOG_FORMAT, LOG_FORMAT. The
/// words may be wrong, so that nobody knows their options.
struct LogWords {
  const std::vector<std::string>& words;
  const Environment& environment;
};
[[nodiscard]] bool wants_json_log(const LogWords& words);

/// Says it on `errors` as complain() does, or as the event job.refused of a JSON log. Returns
/// `exit_code`.
int refuse_to_start(const LogWords& words, std::string_view who, const Error& error, int exit_code,
                    std::FILE* errors);

}  // namespace muster::launcher
