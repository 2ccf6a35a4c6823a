#include "launcher/frameworks/xgboost.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/frameworks/cpu_share.h"
#include "launcher/frameworks/worker_device.h"
#include "launcher/progress/progress_watch.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kTrackerWords = "[tracker] ";
// XGBoost's own 3 tries are too few for all to reach all.
constexpr std::string_view kDialTries = "10";

// What other trackers and Hadoop leave in a pod, and XGBoost or a script would believe.
constexpr std::string_view kForeign[] = {
    "DMLC_JOB_CLUSTER",         "DMLC_NUM_ATTEMPT", "DMLC_NUM_SERVER",   "DMLC_SERVER_ID",
    "DMLC_WORKER_ID",           "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "mapred_tip_id",
    "mapred_task_id",           "mapred_map_tasks", "mapreduce_task_id", "mapreduce_job_maps",
    "mapreduce_task_attempt_id"};

PlannedVariable given(std::string_view name, std::string value, std::string_view reason) {
  return {.name = std::string(name),
          .value = std::move(value),
          .reason = std::string(reason),
          .source = "round",
          .claim = Claim::kOverrides};
}

// Null: there is no such rank.
const rendezvous::RosterEntry* node_of(const rendezvous::Assign& round, int64_t rank) {
  int64_t end = 0;
  for (const auto& node : round.roster) {
    end += node.workers;
    if (rank >= 0 && rank < end) return &node;
  }
  return nullptr;
}

}  // namespace

XgboostDriver::XgboostDriver(const Options& options) : options_(options) {
  if (options.framework.xgboost_hook) hook_.emplace("xgboost", "--xgboost-hook off");
}

FrameworkNeeds XgboostDriver::needs() const {
  FrameworkNeeds needs;
  needs.python_module = "xgboost";
  needs.roster = true;
  needs.one_thread = false;  // it works on all CPUs between its collectives
  needs.folder = hook_.has_value();
  return needs;
}

Status XgboostDriver::start(const DriverHost& host) {
  host_.emplace(host);
  addresses_.start(*host_);
  devices_ = nccl::discover_accelerators(host_->doors.files);
  if (hook_) MUSTER_RETURN_IF_ERROR(hook_->open(host_->context.folder));
  calls_.emplace(host_->doors.loop, host_->doors.network);
  tracker_.emplace(host_->doors.loop, host_->doors.network, hooks());
  host_->serve_workers(
      rendezvous::Protocol::kXgboost,
      [this](Arrival arrival) { tracker_->adopt(std::move(arrival)); },
      [this] { return tracker_->clients(); });
  return {};
}

rendezvous::TrackerHooks XgboostDriver::hooks() {
  return {.print =
              [this](const std::string& text) {
                for (const std::string_view line : split(trim(text), '\n'))
                  host_->doors.console.out().write_own_line(std::string(kTrackerWords) +
                                                            std::string(line) + "\n");
                // The tracker is on the node of rank 0, which prints for all.
                if (auto* const progress = host_->context.progress)
                  progress->take_lines(0, text + "\n");
              },
          .failed = [this](const rendezvous::TrackerFailure& failure) { failed(failure); },
          .host = [this](const std::string& task_id,
                         const std::string& source) { return host_of(task_id, source); }};
}

Status XgboostDriver::check(const std::string& /*program*/) {
  return hook_ ? hook_->check(options_) : Status();
}

// The group of the tracker begins before any node starts a worker.
void XgboostDriver::prepare_round(const rendezvous::Assign& round,
                                  const std::function<void()>& ready) {
  begin(round);
  prepared_ = true;
  addresses_.prepare_round(round, ready);
}

void XgboostDriver::exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) {
  if (sequence == 0) addresses_.exchanged(all);
}

Result<std::optional<JobLauncher>> XgboostDriver::begin_attempt(const rendezvous::Assign& round,
                                                                int /*workers*/) {
  if (!std::exchange(prepared_, false)) begin(round);
  MUSTER_RETURN_IF_ERROR(addresses_.begin_attempt(round));
  return std::optional<JobLauncher>();
}

void XgboostDriver::begin(const rendezvous::Assign& round) {
  round_ = round;
  stopping_ = false;
  calls_->cancel();
  if (round.node_rank == 0) tracker_->begin(round.world_size);
}

// ---- what workers are told

Status XgboostDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                    EnvironmentPlan& plan) const {
  using enum EnvironmentLayer;
  const std::string rank = std::to_string(round.rank_offset + local_rank);
  const std::string later(kMadeAtStart);
  const bool begun = round.master_port != 0;
  const Address tracker{round.master_host, static_cast<uint16_t>(round.master_port)};
  plan.add(kFramework,
           {given("DMLC_TRACKER_URI", begun ? tracker.host : later, "agent of node rank 0"),
            given("DMLC_TRACKER_PORT", begun ? std::to_string(tracker.port) : later,
                  "tracker, on the job port"),
            given("DMLC_TASK_ID", rank, "this worker among all workers"),
            given("DMLC_NUM_WORKER", std::to_string(round.world_size), "workers of the job"),
            given("DMLC_ROLE", "worker", "XGBoost has no other role"),
            given("MASTER_PORT", addresses_.known() ? std::to_string(addresses_.at(0).port) : later,
                  "free on the node of rank 0, for what a script serves"),
            given("TORCHELASTIC_USE_AGENT_STORE", "False", "there is no store at MASTER_PORT")});
  for (const std::string_view name : kForeign)
    plan.add(kFramework, {std::string(name), std::nullopt, "it is of another launcher", "XGBoost"});
  if (hook_) {
    plan.add(kFramework, hook_->variables(host_ ? host_->context.environment : Environment()));
    plan.add(kFramework, {given(kXgboostTrackerVariable, begun ? tracker.to_string() : later,
                                "the same, for the hook"),
                          given(kXgboostTaskVariable, rank, "the same, for the hook")});
    plan.add(kDefault, {std::string(kXgboostRetryVariable), std::string(kDialTries),
                        "hundreds of workers dial each other at once", "dmlc/xgboost#11270"});
  }
  add_machine(local_rank, plan);
  return {};
}

// XGBoost refuses two workers on one GPU, and takes the first that it sees.
void XgboostDriver::add_machine(int local_rank, EnvironmentPlan& plan) const {
  const int workers = host_ ? host_->workers() : options_.workers_per_node.number;
  if (const auto threads = thread_share(host_ ? &host_->doors.files : nullptr, workers))
    plan.add(EnvironmentLayer::kDefault, *threads);
  if (!host_) return;
  const auto device = one_device(devices_, host_->context.environment, local_rank, workers);
  if (device) plan.add(EnvironmentLayer::kFramework, *device);
}

// A tracker of the script's own, in the process of rank 0, binds its port without SO_REUSEPORT.
Status XgboostDriver::attach(int local_rank, WorkerStart& /*worker*/) {
  if (round_.rank_offset + local_rank == 0) addresses_.release(local_rank);
  return {};
}

// Peers of a worker dial it where the tracker says, from other nodes, too.
std::string XgboostDriver::host_of(const std::string& task_id, const std::string& source) const {
  if (!Address{source, 0}.is_loopback()) return source;
  const auto* node = node_of(round_, parse_integer(task_id).value_or(-1));
  return node != nullptr ? node->host : source;
}

// ---- how workers end

// From now on their ends are no failures that others must be told of.
bool XgboostDriver::tell_ranks(int /*signal*/) {
  stopping_ = true;
  return false;
}

std::optional<WorkerVerdict> XgboostDriver::ended(int local_rank, bool success) {
  if (stopping_) return std::nullopt;
  const int rank = round_.rank_offset + local_rank;
  if (round_.node_rank != 0) {
    calls_->say({round_.master_host, static_cast<uint16_t>(round_.master_port)},
                rendezvous::encode_ended(rank, round_.world_size, success));
    return std::nullopt;
  }
  const auto deadlock = tracker_->worker_ended(rank, success);
  if (!deadlock) return std::nullopt;
  return WorkerVerdict{.exit_code = 1, .reason = deadlock->reason};
}

void XgboostDriver::failed(const rendezvous::TrackerFailure& failure) {
  const auto* node = node_of(round_, failure.rank);
  elastic::FailureRecord record;
  record.rank = failure.rank;
  record.node = node != nullptr ? node->identity.name : host_->context.node;
  record.status = {.code = 1};
  record.failure_class = elastic::FailureClass::kUserError;
  record.reason = failure.reason;
  record.noticed = host_->doors.loop.now();
  record.noticed_wall = host_->doors.clock.wall_now();
  record.attempt = round_.attempt;
  host_->failed(record);
  host_->end_workers(options_.grace_period);
}

void XgboostDriver::round_over() {
  prepared_ = false;
  tracker_->end();
}

}  // namespace muster::launcher
