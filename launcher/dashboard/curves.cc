#include "launcher/dashboard/curves.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;
using Points = std::vector<std::pair<int64_t, double>>;

int64_t rank_of(const json& body) {
  const auto rank = body.find("rank");
  return rank != body.end() && rank->is_number_integer() ? rank->get<int64_t>() : INT64_MAX;
}

// Whose word counts: the lowest rank, unless it has been silent for a while.
class Speaker {
 public:
  bool hears(int64_t rank, int64_t time_ms) {
    if (rank > rank_ && time_ms - last_ms_ < kSpeakerSilenceMs) return false;
    rank_ = rank;
    last_ms_ = time_ms;
    return true;
  }

 private:
  int64_t rank_ = INT64_MAX;
  int64_t last_ms_ = 0;
};

void add_point(std::map<std::string, Points>& curves, const std::string& name, int64_t time_ms,
               const json& value) {
  if (value.is_number()) curves[name].emplace_back(time_ms, value.get<double>());
}

}  // namespace

Points thinned(Points points) {
  if (points.size() <= kMaxCurvePoints) return points;
  // Each piece of the time gives its smallest and its largest value.
  constexpr int64_t kPieces = kMaxCurvePoints / 2 - 1;
  const int64_t first_ms = points.front().first;
  const int64_t piece_ms = (points.back().first - first_ms) / kPieces + 1;
  Points kept = {points.front()};
  const auto value = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (auto from = points.begin() + 1; from != points.end() - 1;) {
    const int64_t piece = (from->first - first_ms) / piece_ms;
    const auto to =
        std::find_if(from, points.end() - 1, [first_ms, piece_ms, piece](const auto& point) {
          return (point.first - first_ms) / piece_ms != piece;
        });
    const auto [least, most] = std::minmax_element(from, to, value);
    kept.push_back(*std::min(least, most));
    if (least != most) kept.push_back(*std::max(least, most));
    from = to;
  }
  kept.push_back(points.back());
  return kept;
}

std::vector<Curve> curves_of(std::span<const StoredProgress> points) {
  std::map<std::string, Points> found;
  Points steps;
  Speaker speaker;
  for (const StoredProgress& point : points) {
    const auto body = parse_json(point.body, kMaxKeptEventBytes);
    if (!body || !body->is_object() || !speaker.hears(rank_of(*body), point.time_ms)) continue;
    if (const auto step = body->find("step"); step != body->end() && step->is_number())
      steps.emplace_back(point.time_ms, step->get<double>());
    const auto metrics = body->find("metrics");
    if (metrics == body->end() || !metrics->is_object()) continue;
    for (const auto& [name, value] : metrics->items())
      add_point(found, std::string(clip_utf8(name, kMaxMetricNameBytes)), point.time_ms, value);
  }
  std::vector<Curve> curves;
  if (!steps.empty()) curves.push_back({"step", thinned(std::move(steps))});
  for (auto& [name, values] : found)
    if (curves.size() < kMaxCurves) curves.push_back({name, thinned(std::move(values))});
  return curves;
}

std::optional<size_t> speaker_of(std::span<const StoredProgress> last) {
  std::optional<size_t> speaker;
  int64_t newest_ms = 0;
  for (const StoredProgress& point : last) newest_ms = std::max(newest_ms, point.time_ms);
  int64_t lowest = INT64_MAX;
  for (size_t i = 0; i < last.size(); ++i) {
    const auto body = parse_json(last[i].body, kMaxKeptEventBytes);
    if (!body || !body->is_object() || newest_ms - last[i].time_ms >= kSpeakerSilenceMs) continue;
    const int64_t rank = rank_of(*body);
    if (speaker && rank >= lowest) continue;
    speaker = i;
    lowest = rank;
  }
  return speaker;
}

std::string progress_json(const StoredProgress& point) {
  json shown = {{"time_ms", point.time_ms}, {"node", point.node}};
  const auto body = parse_json(point.body, kMaxKeptEventBytes);
  if (!body || !body->is_object()) return dump_json(shown);
  for (const char* key :
       {"rank", "step", "total", "epoch", "rate", "percent", "eta_s", "attempt", "round"})
    if (const auto value = body->find(key); value != body->end() && value->is_number())
      shown[key] = *value;
  shown["metrics"] = json::object();
  const auto metrics = body->find("metrics");
  if (metrics == body->end() || !metrics->is_object()) return dump_json(shown);
  for (const auto& [name, value] : metrics->items())
    if (value.is_number() && shown["metrics"].size() < kMaxCurves)
      shown["metrics"][std::string(clip_utf8(name, kMaxMetricNameBytes))] = value;
  return dump_json(shown);
}

std::string curves_json(const std::string& job, std::span<const Curve> curves) {
  json list = json::array();
  for (const Curve& curve : curves)
    list.push_back({{"name", curve.name}, {"points", curve.points}});
  return dump_json({{"job", job}, {"curves", list}});
}

}  // namespace muster::launcher
