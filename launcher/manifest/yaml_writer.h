// JSON as YAML, for people: yaml-cpp is seen by yaml_writer.cc and yaml_reader.cc alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace muster::launcher {

/// A stream of documents, with "---" between them. The fields by which an object is known come
/// first (apiVersion, kind, metadata, name), the others in the order of the alphabet. A text that
/// some reader of YAML 1.1 or 1.2 takes for something else is quoted. Texts are UTF-8.
[[nodiscard]] std::string write_yaml(std::span<const nlohmann::json> documents);

}  // namespace muster::launcher
