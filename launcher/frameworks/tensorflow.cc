#include "launcher/frameworks/tensorflow.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kChief = "chief";
constexpr std::string_view kWorker = "worker";
constexpr std::string_view kServer = "ps";
constexpr std::string_view kEvaluator = "evaluator";
constexpr std::array kTypes = {kChief, kWorker, kServer, kEvaluator};

std::string type_of(const std::string& role) {
  const bool known = std::ranges::find(kTypes, role) != kTypes.end();
  return known ? role : std::string(kWorker);
}

// The chief, else worker 0: it leads the others, saves, and says by its end that all is done.
int deciding_rank(const std::vector<TensorflowTask>& tasks) {
  for (const std::string_view type : {kChief, kWorker}) {
    const auto found = std::ranges::find(tasks, type, &TensorflowTask::type);
    if (found != tasks.end()) return static_cast<int>(found - tasks.begin());
  }
  return 0;
}

// An evaluator is no part of the cluster that trains: of its own it needs its address alone.
std::string tf_config(const std::vector<TensorflowTask>& tasks, const WorkerAddresses& addresses,
                      size_t rank) {
  const TensorflowTask& own = tasks.at(rank);
  nlohmann::json config{{"task", {{"type", own.type}, {"index", own.index}}}};
  for (size_t other = 0; other < tasks.size(); ++other) {
    const std::string& type = tasks[other].type;
    if ((type == kEvaluator) == (own.type == kEvaluator))
      config["cluster"][type].push_back(addresses.text(static_cast<int>(other)));
  }
  return dump_json(config);
}

}  // namespace

FrameworkNeeds TensorflowDriver::needs() const {
  FrameworkNeeds needs;
  needs.roster = true;
  needs.python_module = "tensorflow";
  return needs;
}

Status TensorflowDriver::start(const DriverHost& host) {
  host_.emplace(host);
  addresses_.start(*host_);
  return {};
}

// The order of --roles, or else what each node says of its own workers.
std::vector<TensorflowTask> TensorflowDriver::tasks(const rendezvous::Assign& round) const {
  std::vector<TensorflowTask> tasks;
  for (const RoleCount& role : options_.framework.roles)
    tasks.resize(tasks.size() + static_cast<size_t>(role.count), {role.role, 0});
  if (tasks.empty()) {
    for (const auto& node : round.roster)
      tasks.resize(tasks.size() + static_cast<size_t>(node.workers), {type_of(node.note), 0});
  }
  if (tasks.empty())
    tasks.resize(static_cast<size_t>(round.world_size), {type_of(options_.role), 0});
  std::map<std::string, int> counts;
  for (TensorflowTask& task : tasks) task.index = counts[task.type]++;
  return tasks;
}

Result<std::optional<JobLauncher>> TensorflowDriver::begin_attempt(const rendezvous::Assign& round,
                                                                   int /*workers*/) {
  MUSTER_RETURN_IF_ERROR(addresses_.begin_attempt(round));
  tasks_ = tasks(round);
  if (tasks_.size() != static_cast<size_t>(round.world_size)) {
    return Error{Code::kConfig, 0,
                 "--roles name " + counted(tasks_.size(), "worker", "workers") +
                     ", and there are " + std::to_string(round.world_size)};
  }
  first_rank_ = round.rank_offset;
  has_servers_ = std::ranges::count(tasks_, kServer, &TensorflowTask::type) > 0;
  decided_ = false;
  return std::optional<JobLauncher>();
}

Status TensorflowDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                       EnvironmentPlan& plan) const {
  const auto rank = static_cast<size_t>(round.rank_offset) + static_cast<size_t>(local_rank);
  const auto tasks = this->tasks(round);
  if (rank >= tasks.size()) return {};  // begin_attempt() says so
  plan.add(
      EnvironmentLayer::kFramework,
      {.name = "TF_CONFIG",
       .value = tf_config(tasks, addresses_, rank),
       .reason = tasks[rank].type + " " + std::to_string(tasks[rank].index) + " of the cluster",
       .source = "round",
       .claim = Claim::kOverrides});
  plan.add(EnvironmentLayer::kDefault,
           {"TF_GRPC_REUSE_PORT", "1", "its port is reserved for it", "tried: TensorFlow 2.21"});
  plan.add(EnvironmentLayer::kDefault,
           {"GRPC_FAIL_FAST", "use_caller", "a call to a process that has ended fails",
            "TensorFlow's guide to parameter servers"});
  return {};
}

std::optional<WorkerVerdict> TensorflowDriver::ended(int local_rank, bool success) {
  const int rank = first_rank_ + local_rank;
  if (success && !decided_ && rank == deciding_rank(tasks_)) decide(rank);
  const bool is_evaluator = tasks_.at(static_cast<size_t>(rank)).type == kEvaluator;
  if (success || (!decided_ && !is_evaluator)) return std::nullopt;
  return WorkerVerdict{
      .exit_code = 0,
      .reason = is_evaluator ? "an evaluator decides nothing" : "the job had succeeded"};
}

// Servers and evaluators wait for more, and never end by themselves.
void TensorflowDriver::decide(int rank) {
  decided_ = true;
  const bool waits = std::ranges::any_of(tasks_, [](const TensorflowTask& task) {
    return task.type == kServer || task.type == kEvaluator;
  });
  const TensorflowTask& task = tasks_.at(static_cast<size_t>(rank));
  host_->decided({.stops = waits,
                  .reason = "the " + task.type + " (rank " + std::to_string(rank) + ") succeeded"});
  if (!waits) return;
  stop_ = host_->doors.loop.soon([this] { host_->end_workers(options_.grace_period); });
}

bool TensorflowDriver::starts_again(int local_rank) const {
  const int rank = first_rank_ + local_rank;
  return has_servers_ && rank != deciding_rank(tasks_) &&
         tasks_.at(static_cast<size_t>(rank)).type == kWorker;
}

// The coordinator takes it back at the same address.
WorkerEnd TensorflowDriver::after(int local_rank, const elastic::Classified& end) {
  const bool again =
      starts_again(local_rank) && !decided_ && elastic::is_failure(end.failure_class);
  return again ? WorkerEnd::kAsks : WorkerEnd::kCounts;
}

}  // namespace muster::launcher
