#include "launcher/frameworks/plain.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster::launcher {

PlainDriver::PlainDriver(const Options& options)
    : options_(options), runs_(options.framework.plain.runs.value_or(0)) {}

FrameworkNeeds PlainDriver::needs() const {
  FrameworkNeeds needs;
  needs.rank_variables = false;
  return needs;
}

Status PlainDriver::start(const DriverHost& host) {
  host_.emplace(host);
  return {};
}

void PlainDriver::prepare_round(const rendezvous::Assign& /*round*/,
                                const std::function<void()>& ready) {
  if (!options_.framework.plain.runs) return ready();
  ready_ = ready;
  host_->exchange(0, runs_.told());
}

void PlainDriver::exchanged(uint64_t /*sequence*/, const Result<std::vector<std::string>>& all) {
  problem_.reset();
  if (!all) problem_ = all.error();
  for (size_t node = 0; !problem_ && node < all->size(); ++node) {
    if (const Status learned = runs_.learn(all->at(node)); !learned) problem_ = learned.error();
  }
  if (ready_) std::exchange(ready_, nullptr)();
}

Result<std::optional<JobLauncher>> PlainDriver::begin_attempt(const rendezvous::Assign& round,
                                                              int workers) {
  if (problem_) return *std::exchange(problem_, std::nullopt);
  if (!options_.framework.plain.runs) runs_ = RunList(round.world_size);
  const int at_once =
      std::min(options_.framework.plain.parallelism.value_or(round.world_size), round.world_size);
  const int own = std::clamp(at_once - round.rank_offset, 0, workers);
  runs_.deal(round.rank_offset, own, at_once);
  idle_.clear();
  next_.clear();
  next_.resize(static_cast<size_t>(workers));
  for (int local_rank = 0; local_rank < workers; ++local_rank) {
    if (local_rank >= own || !runs_.next(local_rank)) idle_.push_back(local_rank);
  }
  idle_timer_ = host_->doors.loop.soon([this] {
    for (const int local_rank : std::exchange(idle_, {})) host_->resolve(local_rank, false);
  });
  return std::optional<JobLauncher>();
}

// One program alone may be a pod of an indexed Job, whose index counts then.
Status PlainDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                  EnvironmentPlan& plan) const {
  const bool counts = options_.framework.plain.runs || round.world_size > 1;
  const int index = runs_.of(local_rank).value_or(round.rank_offset + local_rank);
  for (const std::string_view name :
       {kRunIndexVariable, std::string_view("JOB_COMPLETION_INDEX")}) {
    plan.add(EnvironmentLayer::kFramework,
             {.name = std::string(name),
              .value = std::to_string(index),
              .reason = "this run among all runs",
              .source = options_.framework.plain.runs ? "--runs" : "round",
              .claim = counts ? Claim::kOverrides : Claim::kYields});
  }
  return {};
}

bool PlainDriver::restarts_alone() const {
  return options_.framework.plain.restart_scope == RestartScope::kWorker;
}

bool PlainDriver::starts_again(int /*local_rank*/) const {
  const PlainOptions& plain = options_.framework.plain;
  return plain.runs || plain.parallelism || restarts_alone();
}

WorkerEnd PlainDriver::after(int local_rank, const elastic::Classified& end) {
  const bool success = end.failure_class == elastic::FailureClass::kSuccess;
  const int run = runs_.of(local_rank).value_or(0);
  if (options_.framework.plain.runs || options_.framework.plain.parallelism) {
    log::write(success ? log::Level::kInfo : log::Level::kWarning, "run.end",
               {{"run", run}, {"local_rank", local_rank}, {"reason", end.reason}});
  }
  if (!success) return restarts_alone() ? WorkerEnd::kAsks : WorkerEnd::kCounts;
  runs_.done(local_rank);
  if (!runs_.next(local_rank)) return WorkerEnd::kCounts;
  next_.at(static_cast<size_t>(local_rank)) =
      host_->doors.loop.soon([this, local_rank] { host_->resolve(local_rank, true); });
  return WorkerEnd::kWaits;
}

}  // namespace muster::launcher
