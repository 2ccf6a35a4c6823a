// RenderRequest: what the flags of `muster render` say. Its rows are render_flags.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/render/job_form.h"

namespace muster::launcher {

struct RenderRequest {
  std::string file = {};        ///< a manifest instead of the flags; "" = none
  std::string output_dir = {};  ///< "" = stdout
  std::optional<JobKind> to = {};
  bool help = false;
  std::vector<std::string> given = {};  ///< the long names of all flags that were given

  std::string name = {};
  std::string image = {};
  std::string framework = {};
  std::optional<int> workers = {};
  bool replaces_entrypoint = false;  ///< --command: the words are the whole command
  std::vector<std::string> words = {};
};

}  // namespace muster::launcher
