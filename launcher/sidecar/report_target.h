// ReportTarget: whom the sidecar tells, as `--report` says it. Read by the sidecar's command line
// and by that of `muster run`, which hands it on. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/sidecar/url.h"

namespace muster::launcher {

/// Of one sidecar: each has its own place in the journal, and buffers.
inline constexpr size_t kMaxReportTargets = 8;

enum class TargetKind {
  kWebhook,     ///< every event, to a URL of the user's
  kTrainJob,    ///< how far the job is, to the Kubeflow trainer
  kAnnotation,  ///< what the node does, at its own pod
  kStdout,      ///< every event, as a line
};

struct ReportTarget {
  TargetKind kind = TargetKind::kStdout;
  Url url;           ///< of a webhook
  std::string text;  ///< as it was given
};

/// Of `--report` and MUSTER_REPORT: words with white space between, each "webhook=URL", "trainjob",
/// "annotation" or "stdout"; what is there twice counts once. kUsage: something else, or too many.
Result<std::vector<ReportTarget>> parse_reports(std::string_view text);

/// By which its files in the folder are called: "webhook-1c9f0a2e", "trainjob". Another URL is
/// another receiver, to whom everything is told from the beginning.
[[nodiscard]] std::string name_of(const ReportTarget& target);
/// For messages: "webhook http://controller:8080/report".
[[nodiscard]] std::string shown(const ReportTarget& target);

}  // namespace muster::launcher
