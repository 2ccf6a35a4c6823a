#include "launcher/frameworks/lightgbm.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/frameworks/cpu_share.h"
#include "launcher/frameworks/lightgbm_words.h"
#include "launcher/frameworks/pytorch.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kSource = "LightGBM 4.7.0";

bool is_ipv4(const Address& address) { return address.host.find(':') == std::string::npos; }

}  // namespace

LightgbmDriver::LightgbmDriver(const Options& options) : options_(options) {
  if (options.framework.lightgbm_hook) hook_.emplace("lightgbm", "--lightgbm-hook off");
}

FrameworkNeeds LightgbmDriver::needs() const {
  FrameworkNeeds needs;
  needs.python_module = "lightgbm";
  needs.roster = true;
  needs.folder = hook_.has_value();
  needs.one_thread = false;
  return needs;
}

Status LightgbmDriver::start(const DriverHost& host) {
  host_.emplace(host);
  addresses_.start(*host_);
  return hook_ ? hook_->open(host_->context.folder) : Status();
}

Status LightgbmDriver::check(const std::string& /*program*/) {
  return hook_ ? hook_->check(options_) : Status();
}

void LightgbmDriver::prepare_round(const rendezvous::Assign& round,
                                   const std::function<void()>& ready) {
  addresses_.prepare_round(round, ready);
}

void LightgbmDriver::exchanged(uint64_t /*sequence*/, const Result<std::vector<std::string>>& all) {
  addresses_.exchanged(all);
}

Result<std::optional<JobLauncher>> LightgbmDriver::begin_attempt(const rendezvous::Assign& round,
                                                                 int /*workers*/) {
  first_rank_ = round.rank_offset;
  MUSTER_RETURN_IF_ERROR(addresses_.begin_attempt(round));
  machines_.clear();
  for (int rank = 0; rank < round.world_size; ++rank) {
    Address address = addresses_.at(rank);
    if (!is_ipv4(address)) {
      return Error{Code::kConfig, 0,
                   "LightGBM connects its workers by IPv4 alone, and a node is at " + address.host +
                       ": give each node an address of IPv4 with --local-addr"};
    }
    // A worker looks for its own address among those of the interfaces, where of 127.0.0.0/8 there
    // is one. All ports of one machine differ.
    if (address.is_loopback()) address.host = "127.0.0.1";
    machines_.push_back(address.to_string());
  }
  return std::optional<JobLauncher>();
}

Status LightgbmDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                     EnvironmentPlan& plan) const {
  const bool begun = !machines_.empty();
  const std::string later(kMadeAtStart);
  const auto set = [&](std::string_view name, std::string value, std::string_view reason) {
    plan.add(EnvironmentLayer::kFramework, {.name = std::string(name),
                                            .value = std::move(value),
                                            .reason = std::string(reason),
                                            .source = std::string(kSource),
                                            .claim = Claim::kOverrides});
  };
  set("LIGHTGBM_MACHINES", begun ? join(machines_, ",") : later,
      "where the workers listen, by rank");
  set("LIGHTGBM_LOCAL_LISTEN_PORT",
      begun ? std::to_string(addresses_.at(round.rank_offset + local_rank).port) : later,
      "where this worker listens, from which it knows its rank");
  set("LIGHTGBM_NUM_MACHINES", std::to_string(round.world_size), "workers of the job");
  add_threads(plan);
  if (!hook_) return {};
  plan.add(EnvironmentLayer::kFramework,
           hook_->variables(host_ ? host_->context.environment : Environment()));
  return {};
}

// It has threads where other libraries have processes; but two teams on one CPU wait for each
// other.
void LightgbmDriver::add_threads(EnvironmentPlan& plan) const {
  const int workers = host_ ? host_->workers() : options_.workers_per_node.number;
  if (const auto threads = thread_share(host_ ? &host_->doors.files : nullptr, workers))
    plan.add(EnvironmentLayer::kDefault, *threads);
}

// The worker binds without SO_REUSEPORT, so its port is given up here.
Status LightgbmDriver::attach(int local_rank, WorkerStart& worker) {
  addresses_.release(local_rank);
  const bool own_program =
      options_.entry == EntryKind::kProgram && base_name(worker.request.program) == "lightgbm";
  if (!hook_ || !own_program) return {};
  auto& words = worker.request.arguments;
  const int port = addresses_.at(first_rank_ + local_rank).port;
  const auto more = lightgbm_words(words, host_->doors.files, machines_, port);
  words.insert(words.end(), more.begin(), more.end());
  return {};
}

}  // namespace muster::launcher
