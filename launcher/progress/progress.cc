#include "launcher/progress/progress.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {

namespace {

// A rate of less than that is a guess.
constexpr Duration kRateLeast = std::chrono::milliseconds(500);

double rounded(double value, double to) { return std::round(value * to) / to; }

}  // namespace

std::string progress_json(const ProgressView& view) {
  nlohmann::json object;
  object["rank"] = view.rank;
  if (view.step) object["step"] = *view.step;
  if (view.total) object["total"] = *view.total;
  if (view.epoch) object["epoch"] = *view.epoch;
  object["metrics"] = view.metrics;
  if (view.rate) object["rate"] = *view.rate;
  if (view.percent) object["percent"] = *view.percent;
  if (view.eta_s) object["eta_s"] = *view.eta_s;
  object["unmoved_s"] = rounded(to_seconds(view.unmoved), 1000);
  return dump_json(object);
}

void Progress::begin_attempt(TimePoint now) {
  ranks_.clear();
  began_ = now;
}

// Whether its numbers are those of the training. Of several bars one that has a place in the
// training is; else the longest, or the next one once it is full.
bool Progress::counts(const Rank& rank, TimePoint now, const ProgressReport& report) {
  const bool is_stale = now - rank.moved > kProgressStale;
  if (report.source != rank.source) return report.source > rank.source || is_stale;
  if (report.source != ProgressSource::kBar || report.bar == rank.bar || is_stale) return true;
  if (report.is_placed != rank.is_placed) return report.is_placed;
  const bool full = rank.step && rank.total && *rank.step >= *rank.total;
  return full || !rank.step || report.total.value_or(0) > rank.total.value_or(0);
}

void Progress::take(TimePoint now, int rank, const ProgressReport& report) {
  if (!report.says_anything()) return;
  const auto [found, is_new] = ranks_.try_emplace(rank);
  Rank& known = found->second;
  if (is_new) known.moved = began_;
  for (const auto& [name, value] : report.metrics)
    if (known.metrics.size() < kMaxMetrics || known.metrics.contains(name))
      known.metrics.insert_or_assign(name, value);
  // Words without a step belong to whatever tells the steps.
  if (report.step ? counts(known, now, report) : report.source >= known.source) {
    if (report.step) {
      known.source = report.source;
      known.bar = report.bar;
      known.is_placed = report.is_placed || report.source != ProgressSource::kBar;
    }
    if (report.total) known.total = report.total;
    if (report.epoch) known.epoch = report.epoch;
    move(known, now, report);
  } else if (!known.epoch) {
    known.epoch = report.epoch;
  }
}

void Progress::move(Rank& rank, TimePoint now, const ProgressReport& report) {
  if (!report.step || report.step == rank.step) return;
  // A bar that begins anew, or another one: it has a rate of its own.
  if (rank.step && *report.step < *rank.step) rank.samples.clear();
  rank.step = report.step;
  if (rank.is_placed) rank.furthest = std::max(rank.furthest, *report.step);
  rank.moved = now;
  const Sample sample{now, *report.step};
  // The newest one moves along until it is old enough to stay.
  const size_t count = rank.samples.size();
  if (count > 1 && rank.samples.back().at - rank.samples[count - 2].at < kRateSample)
    rank.samples.pop_back();
  rank.samples.push_back(sample);
  while (rank.samples.size() > 2 && now - rank.samples.front().at > kRateWindow)
    rank.samples.pop_front();
}

std::optional<double> Progress::rate(const Rank& rank) {
  if (rank.samples.size() < 2) return std::nullopt;
  const Duration took = rank.samples.back().at - rank.samples.front().at;
  const int64_t steps = rank.samples.back().step - rank.samples.front().step;
  if (took < kRateLeast || steps <= 0) return std::nullopt;
  return static_cast<double>(steps) / to_seconds(took);
}

std::optional<ProgressView> Progress::view(TimePoint now) const {
  if (ranks_.empty()) return std::nullopt;
  const auto& [number, rank] = *ranks_.begin();
  ProgressView view;
  view.rank = number;
  view.step = rank.step;
  view.total = rank.total;
  view.epoch = rank.epoch;
  view.metrics = rank.metrics;
  view.unmoved = now - rank.moved;
  if (const auto steps = rate(rank)) view.rate = rounded(*steps, 1000);
  if (!rank.step || !rank.total) return view;
  const auto total = static_cast<double>(*rank.total);
  const auto left = std::max(0.0, total - static_cast<double>(*rank.step));
  view.percent = rounded(100 * (total - left) / total, 100);
  if (view.rate && *view.rate > 0) view.eta_s = rounded(left / *view.rate, 10);
  return view;
}

int64_t Progress::furthest() const {
  if (ranks_.empty()) return -1;
  return ranks_.begin()->second.furthest;
}

}  // namespace muster::launcher
