// SingleTimeline: what the life of the workers means for the timeline of a job of one node. A value
// of one moment; nothing if there is no timeline.
#pragma once

#include <cstdint>
#include <string>

#include "elastic/failure.h"
#include "launcher/timeline/job_timeline.h"

namespace muster::launcher {

class SingleTimeline {
 public:
  /// `timeline` is borrowed; null = there is none. `round`: of the attempt that runs or ran last.
  SingleTimeline(JobTimeline* timeline, TimePoint now, uint64_t round)
      : timeline_(timeline), now_(now), round_(round) {}

  /// Nothing runs: the job begins, or the workers of an attempt are gone.
  void gathers();
  /// The next attempt's workers are about to be started.
  void spawns();
  void runs();
  /// A worker failed: the first one ends the attempt.
  void failed(const elastic::FailureRecord& record);
  /// Somebody wants another attempt.
  void asked(const std::string& reason);
  void moved();
  /// The workers are told to end for good.
  void ends();

 private:
  void broke(std::string cause, std::string reason, TimePoint happened);

  JobTimeline* timeline_;
  TimePoint now_;
  uint64_t round_;
};

}  // namespace muster::launcher
