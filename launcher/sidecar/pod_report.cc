#include "launcher/sidecar/pod_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/socket.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kPrefix = "muster/";
constexpr const char* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr int kMaxPodNotFound = 3;

// A field of an event that becomes an annotation.
struct Row {
  std::string_view event;
  const char* field;
  const char* annotation;
};
constexpr Row kRows[] = {
    {"job.start", "job", "job"},          {"job.named", "job", "job"},
    {"round.start", "round", "round"},    {"round.start", "attempt", "attempt"},
    {"progress", "step", "step"},         {"progress", "total", "total"},
    {"progress", "epoch", "epoch"},       {"progress", "percent", "percent"},
    {"progress", "eta_s", "eta-seconds"}, {"job.end", "reason", "reason"},
    {"job.failure", "cause", "failure"},
};

// And what an event says by being there.
struct StateRow {
  std::string_view event;
  const char* state;
};
constexpr StateRow kStates[] = {
    {"job.start", "starting"},         {"round.start", "running"}, {"progress", "running"},
    {"attempt.restart", "restarting"}, {"round.stop", "stopping"}, {"job.stop", "stopping"},
};

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : "";
}

std::string variable(const Environment& environment, const char* name) {
  return std::string(trim(environment.get(name).value_or("")));
}

Error no_pod(const std::string& what) {
  return {Code::kConfig, 0, "annotations are for pods of Kubernetes: " + what};
}

}  // namespace

bool PodReport::set(const std::string& name, const std::string& value) {
  const std::string clipped = one_line(clip_utf8(value, kMaxAnnotationBytes));
  return std::exchange(annotations_[name], clipped) != clipped;
}

bool PodReport::take(const JournalEvent& event) {
  bool counts = event.name == "job.end";
  for (const Row& row : kRows) counts = counts || row.event == event.name;
  for (const StateRow& row : kStates) counts = counts || row.event == event.name;
  if (!counts) return false;
  const auto object = parse_json(event.line);
  if (!object || !object->is_object()) return false;
  bool is_new = false;
  for (const Row& row : kRows) {
    if (row.event != event.name) continue;
    const std::string value = text_of(*object, row.field);
    if (!value.empty() && set(row.annotation, value)) is_new = true;
  }
  for (const StateRow& row : kStates) {
    if (row.event == event.name && set("state", row.state)) is_new = true;
  }
  if (event.name == "job.end" && set("state", text_of(*object, "result"))) is_new = true;
  if (is_new) annotations_["updated"] = text_of(*object, "time");
  return is_new;
}

std::optional<HttpRequest> PodReport::request() const {
  nlohmann::json annotations = nlohmann::json::object();
  for (const auto& [name, value] : annotations_) annotations[std::string(kPrefix) + name] = value;
  HttpRequest request;
  request.method = "PATCH";
  request.headers = {{"Content-Type", "application/merge-patch+json"}};
  request.body = dump_json({{"metadata", {{"annotations", std::move(annotations)}}}});
  return request;
}

StateVerdict PodReport::judge(int status) {
  if (status != 404) not_found_ = 0;
  if (status >= 200 && status < 300) return StateVerdict::kTaken;
  if (status == 401 || status == 403) return StateVerdict::kAnew;
  if (status == 404)
    return ++not_found_ < kMaxPodNotFound ? StateVerdict::kAgain : StateVerdict::kStop;
  const bool for_now = status == 408 || status == 409 || status == 429;
  return status >= 400 && status < 500 && !for_now ? StateVerdict::kDropped : StateVerdict::kAgain;
}

Result<PodPlace> find_pod(const Environment& environment, const Files& files) {
  const std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  if (host.empty()) return no_pod("no KUBERNETES_SERVICE_HOST");
  std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  const std::string account = kAccount;
  std::string pod = variable(environment, "POD_NAME");
  if (pod.empty()) pod = variable(environment, "HOSTNAME");
  if (pod.empty()) return no_pod("neither POD_NAME nor HOSTNAME");
  std::string space = variable(environment, "POD_NAMESPACE");
  if (space.empty()) {
    const auto text = files.read(account + "/namespace", 256);
    if (!text) return no_pod(text.error().text);
    space = std::string(trim(*text));
  }
  const bool numeric_six = host.find(':') != std::string::npos && !host.starts_with('[');
  auto url =
      parse_url("https://" + (numeric_six ? "[" + host + "]" : host) + ":" +
                (port.empty() ? "443" : port) + "/api/v1/namespaces/" + space + "/pods/" + pod);
  if (!url) return no_pod(url.error().text);
  PodPlace place;
  place.url = *std::move(url);
  place.credentials.token_file = account + "/token";
  place.credentials.authorities_file = account + "/ca.crt";
  return place;
}

}  // namespace muster::launcher
