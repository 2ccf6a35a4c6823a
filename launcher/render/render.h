// `muster render`: flags or a manifest become Kubernetes manifests with muster as the entrypoint.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "launcher/render/render_request.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

struct Rendered {
  Documents documents;
  std::vector<std::string> remarks;  ///< lines for people
};

/// kUsage: 64; else as reading the file of the request.
Result<Rendered> render(const RenderRequest& request, const Files& files);

}  // namespace muster::launcher
