// Finding: something about this node or its settings that a user should know before the job starts.
#pragma once

#include <string>
#include <string_view>

namespace muster::nccl {

enum class Severity {
  kInfo,
  kWarning,  ///< the job runs, slower or by luck
  kError,    ///< the job will fail or hang
};
/// "info", "warning", "error".
[[nodiscard]] std::string_view to_string(Severity severity);

struct Finding {
  std::string id;  ///< of the catalogue of checks: "gid_missing" (docs/fabric.md)
  Severity severity = Severity::kInfo;
  std::string what;    ///< what is, and what follows; with its numbers
  std::string remedy;  ///< what to do; "" = nothing
};

/// For a log: "NCCL_IB_DISABLE=true: NCCL reads it as 0: write 1".
[[nodiscard]] std::string to_line(const Finding& finding);

}  // namespace muster::nccl
