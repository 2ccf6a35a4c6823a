// YAML at the edge, as JSON: yaml-cpp is seen by yaml_reader.cc alone.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::launcher {

inline constexpr size_t kMaxYamlBytes = 1U
                                        << 20;  ///< as much as the API server takes of one object
/// Of all documents, aliases counted as often as they are used: a few lines may stand for billions.
inline constexpr size_t kMaxYamlNodes = 100'000;

/// The documents of a stream, without empty ones. Plain scalars are null, boolean or number if they
/// look so, as Kubernetes reads them; the keys of a map are text. kUsage: no YAML (with line and
/// column), no UTF-8, or a key that is there twice. kLimit: too much of it.
Result<std::vector<nlohmann::json>> read_yaml(const std::string& text);

}  // namespace muster::launcher
