#include "nccl/plan/finding.h"

namespace muster::nccl {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "?";
}

std::string to_line(const Finding& finding) {
  return finding.remedy.empty() ? finding.what : finding.what + ": " + finding.remedy;
}

}  // namespace muster::nccl
