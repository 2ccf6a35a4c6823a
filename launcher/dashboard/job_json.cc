#include "launcher/dashboard/job_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

template <typename T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

json span_json(const NodeSpan& span) {
  json object = {{"state", span.state}, {"from_ms", span.from_ms}, {"text", span.text}};
  put(object, "to_ms", span.to_ms);
  put(object, "round", span.round);
  put(object, "attempt", span.attempt);
  return object;
}

json restart_json(const Restart& restart) {
  json phases = json::array();
  for (const auto& [name, seconds] : restart.phases)
    phases.push_back({{"name", name}, {"s", seconds}});
  json object = {{"time_ms", restart.time_ms},
                 {"cause", restart.cause},
                 {"reason", restart.reason},
                 {"phases", phases}};
  put(object, "round", restart.round);
  put(object, "total_s", restart.total_s);
  return object;
}

json failure_json(const Failure& failure) {
  json object = {{"time_ms", failure.time_ms}, {"node", failure.node},
                 {"reason", failure.reason},   {"message", failure.message},
                 {"logs", failure.logs},       {"last_lines", failure.last_lines}};
  put(object, "rank", failure.rank);
  put(object, "round", failure.round);
  return object;
}

// A trainer may say something every step or every hour.
int64_t silent_after_ms(const StoredJob& job) {
  constexpr int64_t kLeastMs = 15L * 60 * 1000;
  constexpr int64_t kGaps = 4;
  return std::max(kLeastMs, kGaps * job.usual_gap_ms);
}

json summary_of(const StoredJob& job, const JobView& view) {
  json object = {{"job", job.name},
                 {"state", view.state},
                 {"reason", view.reason},
                 {"command", view.command},
                 {"began_ms", view.began_ms},
                 {"last_ms", view.last_ms},
                 {"heard_ms", job.heard_ms},
                 {"earlier_runs", view.earlier_runs},
                 {"restarts", view.causes},
                 {"progress", nullptr},
                 {"silent_after_ms", silent_after_ms(job)}};
  put(object, "round", view.round);
  put(object, "workers", view.workers);
  put(object, "nodes", view.nodes);
  if (auto progress = parse_json(view.progress)) object["progress"] = *std::move(progress);
  return object;
}

}  // namespace

std::string summary_json(const StoredJob& job, const JobView& view) {
  return dump_json(summary_of(job, view));
}

std::string detail_json(const StoredJob& job, const JobView& view) {
  json object = summary_of(job, view);
  json rows = json::array();
  for (const NodeRow& row : view.rows) {
    json spans = json::array();
    for (const NodeSpan& span : row.spans) spans.push_back(span_json(span));
    rows.push_back(
        {{"name", row.name}, {"ended", row.ended}, {"failures", row.failures}, {"spans", spans}});
  }
  json restarts = json::array();
  for (const Restart& restart : view.restarts) restarts.push_back(restart_json(restart));
  json moments = json::array();
  for (const Moment& moment : view.moments)
    moments.push_back({{"time_ms", moment.time_ms},
                       {"node", moment.node},
                       {"event", moment.event},
                       {"level", moment.level},
                       {"text", moment.text}});
  object["rows"] = rows;
  object["rows_left_out"] = view.rows_left_out;
  object["restart_list"] = restarts;
  object["moments"] = moments;
  object["failure"] = view.failure ? failure_json(*view.failure) : json();
  return dump_json(object);
}

}  // namespace muster::launcher
