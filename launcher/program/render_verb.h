// `muster render`: prints manifests, or writes them into a folder.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"

namespace muster::launcher {

/// Documents go to `output`, words to `errors`. Exit codes: 0, 64 (a value that is wrong, in flags
/// or file), 71 (a file cannot be read or written).
[[nodiscard]] int run_render_verb(const std::vector<std::string>& arguments, Files& files,
                                  std::FILE* output, std::FILE* errors);

}  // namespace muster::launcher
