#include "launcher/sidecar/trainjob_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr const char* kUrl = "KUBEFLOW_TRAINER_SERVER_URL";
constexpr const char* kAuthorities = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
constexpr const char* kToken = "KUBEFLOW_TRAINER_SERVER_TOKEN";
constexpr int kAlmost = 99;  // while the job runs
constexpr int kAll = 100;

std::optional<double> number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool flag(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// "2026-08-20T10:00:00.123Z" in whole seconds, which every reader of metav1.Time takes.
std::string whole_seconds(std::string_view time) {
  const size_t dot = time.find('.');
  return dot == std::string_view::npos ? std::string(time) : std::string(time.substr(0, dot)) + "Z";
}

// A whole number has no fraction: "4200".
std::string metric_text(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact)
    return std::to_string(static_cast<int64_t>(value));
  return fmt::format("{:.6g}", value);
}

std::map<std::string, std::string> metrics_of(const nlohmann::json& progress) {
  std::map<std::string, std::string> metrics;
  const auto add = [&metrics](const std::string& name, std::optional<double> value) {
    const bool fits = !name.empty() && name.size() <= kMaxTrainJobText;
    if (value && fits && metrics.size() < kMaxTrainJobMetrics) metrics[name] = metric_text(*value);
  };
  add("current_step", number(progress, "step"));
  add("total_steps", number(progress, "total"));
  add("current_epoch", number(progress, "epoch"));
  const auto said = progress.find("metrics");
  if (said == progress.end() || !said->is_object()) return metrics;
  for (const auto& [name, value] : said->items()) add(name, number(*said, name.c_str()));
  return metrics;
}

// Of many nodes none has a rank before the first round.
bool speaks_for_job(std::string_view name, const nlohmann::json& event) {
  if (name == "job.start") return flag(event, "leads");
  return number(event, "first_rank") == 0.0;
}

}  // namespace

bool TrainJobReport::take(const JournalEvent& event) {
  const bool counts = event.name == "job.start" || event.name == "round.start" ||
                      event.name == "progress" || event.name == "job.end";
  if (!counts) return false;
  const auto object = parse_json(event.line);
  if (!object || !object->is_object()) return false;
  if (event.name == "job.start") ended_ = false;  // another agent, in the same folder
  if (event.name == "job.start" || event.name == "round.start") {
    const bool spoke = std::exchange(speaks_, speaks_for_job(event.name, *object));
    return speaks_ && !spoke && !time_.empty();
  }
  time_ = whole_seconds(text(*object, "time"));
  // The journal may have thrown away how the round began.
  if (event.name == "job.end") {
    ended_ = true;
    if (object->contains("first_rank")) speaks_ = speaks_for_job(event.name, *object);
    succeeded_ = text(*object, "result") == "succeeded";
    return speaks_;
  }
  speaks_ = speaks_for_job(event.name, *object);
  percent_ = number(*object, "percent");
  eta_s_ = number(*object, "eta_s");
  metrics_ = metrics_of(*object);
  return speaks_;
}

// Each field that is left out is removed at the receiver.
std::optional<HttpRequest> TrainJobReport::request() const {
  if (!speaks_ || time_.empty()) return std::nullopt;
  nlohmann::json status{{"lastUpdatedTime", time_}};
  const bool whole = ended_ && succeeded_;
  if (whole) {
    status["progressPercentage"] = kAll;
    status["estimatedRemainingSeconds"] = 0;
  } else if (percent_) {
    status["progressPercentage"] =
        static_cast<int>(std::clamp(std::floor(*percent_), 0.0, static_cast<double>(kAlmost)));
  }
  if (!ended_ && eta_s_ && *eta_s_ >= 0) {
    const double most = std::numeric_limits<int32_t>::max();
    status["estimatedRemainingSeconds"] = static_cast<int32_t>(std::min(std::ceil(*eta_s_), most));
  }
  if (!without_metrics_ && !metrics_.empty()) {
    auto metrics = nlohmann::json::array();
    for (const auto& [name, value] : metrics_)
      metrics.push_back({{"name", name}, {"value", value}});
    status["metrics"] = std::move(metrics);
  }
  HttpRequest request;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = dump_json({{"trainerStatus", std::move(status)}});
  return request;
}

StateVerdict TrainJobReport::judge(int status) {
  if (status != 404) not_found_ = 0;
  if (status >= 200 && status < 300) return StateVerdict::kTaken;
  switch (status) {
    case 401:
    case 403:
      return StateVerdict::kAnew;
    case 404:
      return ++not_found_ < kMaxNotFound ? StateVerdict::kAgain : StateVerdict::kStop;
    case 408:
    case 429:
      return StateVerdict::kAgain;
    case 413:
      return std::exchange(without_metrics_, true) ? StateVerdict::kDropped : StateVerdict::kAtOnce;
    default:
      return status >= 400 && status < 500 ? StateVerdict::kDropped : StateVerdict::kAgain;
  }
}

Result<TrainJobPlace> find_trainjob(const Environment& environment) {
  const std::string given(environment.get(kUrl).value_or(""));
  if (given.empty()) {
    return Error{Code::kConfig, 0,
                 std::string("no ") + kUrl +
                     ": the Trainer sets it in containers of the training pod where its gate "
                     "TrainJobStatus is on; a sidecar must be given it, and the volume "
                     "kubeflow-trainer-token"};
  }
  auto url = parse_url(given);
  if (!url) {
    Error error = std::move(url).error();
    error.code = Code::kConfig;
    return std::move(error).with_context(kUrl);
  }
  TrainJobPlace place;
  place.url = *std::move(url);
  place.credentials.token_file = std::string(environment.get(kToken).value_or(""));
  place.credentials.authorities_file = std::string(environment.get(kAuthorities).value_or(""));
  return place;
}

}  // namespace muster::launcher
