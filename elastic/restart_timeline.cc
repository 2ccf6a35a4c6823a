#include "elastic/restart_timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace muster::elastic {

std::string_view to_string(RestartPhase phase) {
  switch (phase) {
    case RestartPhase::kDetect:
      return "detect";
    case RestartPhase::kDecide:
      return "decide";
    case RestartPhase::kStop:
      return "stop";
    case RestartPhase::kRendezvous:
      return "rendezvous";
    case RestartPhase::kCheck:
      return "check";
    case RestartPhase::kSpawn:
      return "spawn";
    case RestartPhase::kFirstProgress:
      return "first_progress";
  }
  MUSTER_CHECK(false);
}

Duration Interruption::total() const {
  return std::accumulate(phases.begin(), phases.end(), Duration::zero());
}

void RestartTimeline::broke(Fault fault) {
  // The next one: no step of the round between them came.
  if (runs_) tell();
  if (productive_since_)
    productive_ += std::max(fault.happened - *productive_since_, Duration::zero());
  productive_since_.reset();
  if (open_) return charge(RestartPhase::kSpawn, fault.at);
  mark_ = fault.happened;
  const TimePoint known = fault.known;
  const TimePoint at = fault.at;
  open_.emplace().fault = std::move(fault);
  charge(RestartPhase::kDetect, known);
  charge(RestartPhase::kDecide, at);
}

void RestartTimeline::explain(const std::string& cause, const std::string& reason) {
  if (!open_ || runs_) return;
  open_->fault.cause = cause;
  open_->fault.reason = reason;
}

void RestartTimeline::charge(RestartPhase phase, TimePoint until) {
  if (!open_ || until <= mark_) return;
  open_->phases.at(static_cast<size_t>(phase)) += until - std::exchange(mark_, until);
}

void RestartTimeline::charge(RestartPhase phase, Duration time, TimePoint until) {
  charge(phase, std::min(mark_ + time, until));
}

void RestartTimeline::runs(TimePoint at, uint64_t round) {
  // A job that tells steps got nowhere before the first of them.
  if (!steps_) productive_since_ = at;
  if (!open_) return;
  charge(RestartPhase::kSpawn, at);
  open_->round = round;
  runs_ = true;
}

// Workers that are being stopped may still tell steps: they are no part of what comes next.
void RestartTimeline::moved(TimePoint at) {
  if (open_ && !runs_) return;
  if (!std::exchange(steps_, true) || !productive_since_) productive_since_ = at;
  if (!runs_) return;
  charge(RestartPhase::kFirstProgress, at);
  open_->moved = true;
  tell();
}

void RestartTimeline::skip(Duration time) { began_ += time; }

void RestartTimeline::ends(TimePoint at) {
  if (productive_since_) productive_ += std::max(at - *productive_since_, Duration::zero());
  productive_since_.reset();
  if (runs_) tell();
  open_.reset();
}

std::optional<TimePoint> RestartTimeline::deadline() const {
  if (!runs_) return std::nullopt;
  return mark_ + (steps_ ? kFirstProgressWait : kFirstStepWait);
}

void RestartTimeline::tick(TimePoint now) {
  if (const auto due = deadline(); due && *due <= now) tell();
}

void RestartTimeline::tell() {
  runs_ = false;
  Interruption done = *std::exchange(open_, std::nullopt);
  CauseTotal& cause = causes_[done.fault.cause];
  ++cause.count;
  cause.time += done.total();
  for (size_t phase = 0; phase < kRestartPhases; ++phase) phases_[phase] += done.phases[phase];
  told_.push_back(std::move(done));
}

std::vector<Interruption> RestartTimeline::take_told() { return std::exchange(told_, {}); }

double RestartTimeline::productive_ratio(TimePoint now) const {
  if (now <= began_) return 0;
  Duration productive = productive_;
  if (productive_since_ && now > *productive_since_) productive += now - *productive_since_;
  return std::clamp(to_seconds(productive) / to_seconds(now - began_), 0.0, 1.0);
}

}  // namespace muster::elastic
