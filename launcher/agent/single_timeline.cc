#include "launcher/agent/single_timeline.h"

#include <algorithm>
#include <utility>

namespace muster::launcher {

using elastic::RestartPhase;

void SingleTimeline::gathers() {
  if (timeline_ == nullptr) return;
  timeline_->entered("Gathering", now_);
  timeline_->charge(RestartPhase::kStop, now_);
}

// There is nobody to meet: what passed was the policy's pause, and health checks. The round counts
// as one that was formed in no time.
void SingleTimeline::spawns() {
  if (timeline_ == nullptr) return;
  timeline_->entered("Assigned", now_);
  timeline_->paused(now_);
  timeline_->formed(now_, Duration::zero());
}

void SingleTimeline::runs() {
  if (timeline_ == nullptr) return;
  timeline_->entered("Running", now_);
  timeline_->runs(now_, round_);
}

void SingleTimeline::failed(const elastic::FailureRecord& record) {
  const std::string who =
      record.rank == elastic::kNoRank ? "" : "rank " + std::to_string(record.rank) + " failed: ";
  broke("failure", who + record.reason, std::min(record.noticed, now_));
}

void SingleTimeline::asked(const std::string& reason) { broke("asked", reason, now_); }

void SingleTimeline::broke(std::string cause, std::string reason, TimePoint happened) {
  if (timeline_ == nullptr || timeline_->state() == "Stopping") return;
  timeline_->entered("Stopping", now_);
  timeline_->broke({.cause = std::move(cause),
                    .reason = std::move(reason),
                    .round = round_,
                    .happened = happened,
                    .known = now_,
                    .at = now_});
}

void SingleTimeline::moved() {
  if (timeline_ != nullptr) timeline_->moved(now_);
}

void SingleTimeline::ends() {
  if (timeline_ == nullptr) return;
  timeline_->entered(timeline_->state() == "Running" ? "Stopping" : "Finished", now_);
  timeline_->ends(now_);
}

}  // namespace muster::launcher
