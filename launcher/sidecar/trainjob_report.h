// TrainJobReport: how far the job is, as the status API of Kubeflow's Trainer takes it (v2.2 and
// later, gate TrainJobStatus; KEP-2779 and pkg/statusserver of v2.3.0). The node of rank 0 speaks
// for the job: the progress of others is that of a part. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/environment.h"
#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/state_report.h"

namespace muster::launcher {

/// Of trainerStatus.metrics.
inline constexpr size_t kMaxTrainJobMetrics = 256;
/// Of a metric's name and of its value, which is text.
inline constexpr size_t kMaxTrainJobText = 64;
/// A TrainJob that is not found so often is gone.
inline constexpr int kMaxNotFound = 3;

class TrainJobReport final : public StateReport {
 public:
  /// `time` of the journal's events is what it says was last updated.
  bool take(const JournalEvent& event) override;
  [[nodiscard]] std::optional<HttpRequest> request() const override;
  StateVerdict judge(int status) override;
  [[nodiscard]] Duration deadline() const override { return std::chrono::seconds(5); }
  [[nodiscard]] Duration spacing() const override { return std::chrono::seconds(5); }

 private:
  bool speaks_ = false;     // the node has rank 0
  bool ended_ = false;      // job.end was the last word
  bool succeeded_ = false;  // and it was a good one
  std::optional<double> percent_;
  std::optional<double> eta_s_;
  std::map<std::string, std::string> metrics_;  // with what the callback of Hugging Face calls
                                                // current_step, total_steps and current_epoch
  std::string time_;                            // RFC 3339, in whole seconds
  bool without_metrics_ = false;                // they are too much
  int not_found_ = 0;
};

/// Where to post, and with what. kConfig: this container was not told, or not a URL.
struct TrainJobPlace {
  Url url;
  HttpCredentials credentials;
};
Result<TrainJobPlace> find_trainjob(const Environment& environment);

}  // namespace muster::launcher
