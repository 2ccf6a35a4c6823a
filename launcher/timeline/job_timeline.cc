#include "launcher/timeline/job_timeline.h"

#include <fmt/core.h>

#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using elastic::Interruption;
using elastic::RestartPhase;

std::string phases_json(const Interruption& interruption) {
  std::string json;
  for (size_t i = 0; i < elastic::kRestartPhases; ++i) {
    const auto phase = static_cast<RestartPhase>(i);
    if (phase == RestartPhase::kFirstProgress && !interruption.moved) continue;
    json += fmt::format("{}\"{}\":{:.3f}", json.empty() ? "{" : ",", to_string(phase),
                        to_seconds(interruption.phases.at(i)));
  }
  return json + "}";
}

std::string history_json(const Interruption& interruption, WallTime happened) {
  std::string json = fmt::format(R"({{"time":"{}","round":{},"cause":)", format_utc_ms(happened),
                                 interruption.fault.round);
  append_json(json, interruption.fault.cause);
  json += R"(,"reason":)";
  append_json(json, clip_utf8(one_line(interruption.fault.reason), kKeptReasonBytes));
  json += fmt::format(R"(,"total_s":{:.3f},"phases":{}}})", to_seconds(interruption.total()),
                      phases_json(interruption));
  return json;
}

}  // namespace

void JobTimeline::entered(std::string_view state, TimePoint at) {
  if (!timeline_) {
    timeline_.emplace(at);
  } else if (sums_.state.empty() && at > sums_.since) {
    timeline_->skip(at - sums_.since);
  }
  if (!sums_.state.empty() && at > sums_.since) sums_.states[sums_.state] += at - sums_.since;
  sums_.state = state;
  sums_.since = at;
}

void JobTimeline::formed(TimePoint at, Duration gathering) {
  if (!timeline_) return;
  ++sums_.rounds;
  sums_.rendezvous += gathering;
  check_ = {};
  charge(RestartPhase::kRendezvous, at);
}

void JobTimeline::paused(TimePoint until) {
  if (!timeline_) return;
  timeline_->charge(RestartPhase::kCheck, std::exchange(check_, {}), until);
  charge(RestartPhase::kDecide, until);
}

// A round may end before it runs, for what its checks found.
void JobTimeline::broke(elastic::Fault fault) {
  if (!timeline_) return;
  if (const Duration check = std::exchange(check_, {}); check > Duration::zero())
    timeline_->charge(RestartPhase::kCheck, check, fault.at);
  timeline_->broke(std::move(fault));
  settle();
}

void JobTimeline::explain(const std::string& cause, const std::string& reason) {
  if (timeline_) timeline_->explain(cause, reason);
}

void JobTimeline::charge(RestartPhase phase, TimePoint until) {
  if (timeline_) timeline_->charge(phase, until);
}

void JobTimeline::runs(TimePoint at, uint64_t round) {
  if (!timeline_) return;
  timeline_->charge(RestartPhase::kCheck, std::exchange(check_, {}), at);
  timeline_->runs(at, round);
  settle();
}

void JobTimeline::moved(TimePoint at) {
  if (!timeline_) return;
  timeline_->moved(at);
  settle();
}

void JobTimeline::ends(TimePoint at) {
  if (!timeline_) return;
  timeline_->ends(at);
  settle();
}

void JobTimeline::settle() {
  for (const Interruption& each : timeline_->take_told()) tell(each);
  timer_.reset();
  const auto due = timeline_->deadline();
  if (!due) return;
  timer_ = loop_.at(*due, [this] {
    timeline_->tick(loop_.now());
    settle();
  });
}

void JobTimeline::tell(const Interruption& interruption) {
  const elastic::Fault& fault = interruption.fault;
  log::info("restart.timeline", {{"round", fault.round},
                                 {"cause", fault.cause},
                                 {"reason", fault.reason},
                                 {"total_s", interruption.total()},
                                 log::Field::of_json("phases", phases_json(interruption))});
  const WallTime happened = clock_.wall_now() - std::chrono::duration_cast<WallTime::duration>(
                                                    clock_.now() - fault.happened);
  kept_.push_back(history_json(interruption, happened));
  if (kept_.size() > kKeptInterruptions) kept_.pop_front();
}

std::string JobTimeline::json() const {
  std::string json = "[";
  for (const std::string& each : kept_) json.append(json.size() > 1 ? "," : "").append(each);
  return json + "]";
}

std::optional<JobTimes> JobTimeline::times() const {
  if (!timeline_) return std::nullopt;
  const TimePoint now = loop_.now();
  JobTimes times{.causes = timeline_->causes(),
                 .phases = timeline_->phases(),
                 .states = sums_.states,
                 .rounds = sums_.rounds,
                 .rendezvous = sums_.rendezvous,
                 .productive_ratio = timeline_->productive_ratio(now)};
  for (const std::string_view cause : elastic::kRestartCauses) times.causes[std::string(cause)];
  if (!sums_.state.empty() && now > sums_.since) times.states[sums_.state] += now - sums_.since;
  return times;
}

}  // namespace muster::launcher
