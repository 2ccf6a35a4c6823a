#include "launcher/progress/trainer_door.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/unguessable.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kPath = "/trainjob/status";
constexpr int kNotFound = 404;
constexpr int kForbidden = 403;
constexpr int kTooLarge = 413;
constexpr int kInvalid = 422;

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<int64_t> step_of(double value) {
  const bool fits = value >= 0 && value <= static_cast<double>(kMaxStep);
  return fits ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

void take_metric(ProgressReport& report, const std::string& name, double value) {
  if (name == "current_step") {
    report.step = step_of(value);
  } else if (name == "total_steps") {
    if (value > 0) report.total = step_of(value);
  } else if (name == "current_epoch") {
    report.epoch = value;
  } else {
    report.add_metric(one_line(name), value);
  }
}

Status write_private(const std::string& path, const std::string& text) {
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) return os_error("open '" + path + "'");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return os_error("write '" + path + "'");
  return {};
}

HttpReply refused(int status, const std::string& message) {
  return {.status = status,
          .body = dump_json({{"metadata", nlohmann::json::object()},
                             {"status", "Failure"},
                             {"message", message},
                             {"code", status}}),
          .content_type = "application/json"};
}

}  // namespace

Result<ProgressReport> parse_trainer_status(std::string_view body) {
  const auto object = parse_json(body, kMaxTrainerBodyBytes);
  if (!object) return Error(object.error());
  if (!object->is_object()) return Error{Code::kProtocol, 0, "no object"};
  ProgressReport report;
  const auto status = object->find("trainerStatus");
  if (status == object->end() || status->is_null()) return report;
  if (!status->is_object()) return Error{Code::kProtocol, 0, "trainerStatus is no object"};
  const auto metrics = status->find("metrics");
  if (metrics == status->end() || !metrics->is_array()) return report;
  for (const auto& metric : *metrics) {
    if (!metric.is_object()) continue;
    const auto value = parse_number(text_of(metric, "value"));
    if (value && std::isfinite(*value)) take_metric(report, text_of(metric, "name"), *value);
  }
  return report;
}

TrainerDoor::TrainerDoor(Loop& loop, Network& network, Files& files,
                         std::function<void(const ProgressReport&)> heard)
    : files_(files),
      heard_(std::move(heard)),
      port_(loop, network, kMaxTrainerClients,
            [this](const HttpCall& call) { return answer(call); }) {}

Result<std::unique_ptr<TrainerDoor>> TrainerDoor::create(
    Loop& loop, Network& network, Files& files, const std::string& folder,
    std::function<void(const ProgressReport&)> heard) {
  std::unique_ptr<TrainerDoor> door(new TrainerDoor(loop, network, files, std::move(heard)));
  auto token = unguessable_digits();
  if (!token) return std::move(token).error();
  const auto address = door->port_.listen({"127.0.0.1", 0});
  if (!address) return Error(address.error());
  door->token_ = *std::move(token);
  door->url_ = "http://" + address->to_string() + std::string(kPath);
  const std::string path = folder + "/trainer.token";
  MUSTER_RETURN_IF_ERROR(write_private(path, door->token_));
  door->token_file_ = path;
  return door;
}

TrainerDoor::~TrainerDoor() {
  if (!token_file_.empty()) (void)files_.remove_file(token_file_);  // of use to nobody any more
}

// In the order in which the real one judges.
HttpReply TrainerDoor::answer(const HttpCall& call) const {
  if (call.body.size() > kMaxTrainerBodyBytes) return refused(kTooLarge, "too large");
  if (call.method != "POST" || call.path != kPath) return refused(kNotFound, "not found");
  if (header_of(call.headers, "Authorization") != "Bearer " + token_)
    return refused(kForbidden, "Forbidden");
  const auto report = parse_trainer_status(call.body);
  if (!report) return refused(kInvalid, report.error().text);
  if (report->says_anything()) heard_(*report);
  return {.body = call.body, .content_type = "application/json"};
}

std::vector<PlannedVariable> TrainerDoor::variables() const {
  const auto planned = [](std::string_view name, const std::string& value) {
    return PlannedVariable{.name = std::string(name),
                           .value = value,
                           .reason =
                               "what workers report goes through the agent, which reports "
                               "for the job",
                           .source = "--report trainjob",
                           .claim = Claim::kOverrides};
  };
  return {planned(kTrainerUrlVariable, url_), planned(kTrainerTokenVariable, token_file_)};
}

}  // namespace muster::launcher
