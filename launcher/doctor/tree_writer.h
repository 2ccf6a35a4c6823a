// TreeWriter: writes a captured machine (nccl/capture) as a folder, which `--root` reads.
#pragma once

#include <cstddef>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "nccl/capture/capture.h"

namespace muster::launcher {

struct WrittenTree {
  size_t files = 0;
  size_t bytes = 0;
};

/// kConfig: `folder` is there and not empty, or no folder. kOs: it cannot be written; what was
/// written stays. `files`: of the real disk.
Result<WrittenTree> write_tree(const nccl::Capture& capture, Files& files,
                               const std::string& folder);

}  // namespace muster::launcher
