#include "launcher/status_port/job_metrics.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"
#include "elastic/restart_timeline.h"

namespace muster::launcher {

namespace {

using nlohmann::json;
using enum MetricType;

// By the place in kFamilies.
enum class Family : size_t {
  kBuild,
  kJob,
  kStart,
  kLeader,
  kRound,
  kNodes,
  kRanks,
  kRestarts,
  kRestartTime,
  kPhaseTime,
  kCharged,
  kAllowed,
  kStateTime,
  kRendezvous,
  kProductive,
  kWorkers,
  kCpu,
  kResident,
  kProcesses,
  kStep,
  kEndStep,
  kEpoch,
  kRate,
  kEta,
  kUnmoved,
  kMetric,
  kDropped,
};
constexpr std::array kFamilies = {
    MetricFamily{"muster_build", kInfo, "", "Version of Muster"},
    MetricFamily{"muster_job", kInfo, "", "Which job and which node of it this is"},
    MetricFamily{"muster_start_time_seconds", kGauge, "seconds",
                 "When this agent was started, in unix time"},
    MetricFamily{"muster_leader", kGauge, "", "1 if this agent leads the job, else 0"},
    MetricFamily{"muster_round", kGauge, "", "The newest round that this node knows of"},
    MetricFamily{"muster_nodes", kGauge, "", "Nodes that are with the leader, by state"},
    MetricFamily{"muster_ranks", kGauge, "", "Workers of the round that runs"},
    MetricFamily{"muster_restarts", kCounter, "", "Rounds that ended and were followed by another"},
    MetricFamily{"muster_restart_seconds", kCounter, "seconds",
                 "Time of these interruptions, from the fault until the workers made steps again"},
    MetricFamily{"muster_restart_phase_seconds", kCounter, "seconds",
                 "The same time by phase of the restart"},
    MetricFamily{"muster_restarts_charged", kGauge, "", "Restarts that count against the budget"},
    MetricFamily{"muster_restarts_allowed", kGauge, "", "The budget of restarts"},
    MetricFamily{"muster_state_seconds", kCounter, "seconds",
                 "Time that the job was in each state"},
    MetricFamily{"muster_rendezvous_seconds", kSummary, "seconds",
                 "Time in which the nodes of each round were gathered"},
    MetricFamily{"muster_effective_training_time_ratio", kGauge, "ratio",
                 "Part of the time in which this agent led in which workers made steps"},
    MetricFamily{"muster_workers", kGauge, "", "Worker processes of this node that live"},
    MetricFamily{"muster_worker_cpu_seconds", kCounter, "seconds",
                 "CPU time of a worker and of what it started"},
    MetricFamily{"muster_worker_resident_bytes", kGauge, "bytes",
                 "Resident memory of a worker and of what it started"},
    MetricFamily{"muster_worker_processes", kGauge, "", "Processes of a worker, itself included"},
    MetricFamily{"muster_progress_step", kGauge, "", "The step that the workers told last"},
    MetricFamily{"muster_progress_end_step", kGauge, "", "The step at which the training ends"},
    MetricFamily{"muster_progress_epoch", kGauge, "", "The epoch that the workers told last"},
    MetricFamily{"muster_progress_steps_per_second", kGauge, "",
                 "Steps a second, over the last minute"},
    MetricFamily{"muster_progress_eta_seconds", kGauge, "seconds",
                 "Time until the end of the training at this rate"},
    MetricFamily{"muster_progress_unmoved_seconds", kGauge, "seconds",
                 "Time since the last step, or since the attempt began"},
    MetricFamily{"muster_progress_metric", kGauge, "",
                 "A number that the workers told beside the step, by its name"},
    MetricFamily{"muster_log_lines_dropped", kCounter, "",
                 "Lines that could not be shown, because nobody read them"},
};
static_assert(kFamilies.size() == static_cast<size_t>(Family::kDropped) + 1);

double seconds(Duration time) { return to_seconds(time); }

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

json object_in(const std::string& source) {
  auto parsed = parse_json(source);
  return parsed && parsed->is_object() ? std::move(*parsed) : json::object();
}

class JobMetrics {
 public:
  JobMetrics(const MetricFacts& facts, ExpositionFormat format)
      : facts_(facts), status_(object_in(facts.status)), text_(format) {}

  std::string write() && {
    identity();
    if (facts_.leads) job();
    node();
    return std::move(text_).end();
  }

 private:
  void begin(Family family) { text_.begin(kFamilies.at(static_cast<size_t>(family))); }
  void one(Family family, std::optional<double> value) {
    begin(family);
    if (value) text_.add(*value);
  }

  void identity() {
    begin(Family::kBuild);
    text_.add(1, {{"version", MUSTER_VERSION}});
    begin(Family::kJob);
    text_.add(1,
              {{"name", facts_.job}, {"run_id", text(status_, "run_id")}, {"node", facts_.node}});
    one(Family::kStart, std::chrono::duration<double>(facts_.started.time_since_epoch()).count());
    one(Family::kLeader, facts_.leads ? 1 : 0);
    one(Family::kRound, number(status_, "round"));
  }

  void job() {
    nodes();
    if (facts_.times) times(*facts_.times);
  }

  void nodes() {
    std::map<std::string, int> states;
    double ranks = 0;
    // The only node keeps its rank while nothing runs there.
    const std::string of_job = text(status_, "state");
    const bool waits = of_job == "Gathering" || of_job == "LastCall" || of_job == "Finished";
    const auto nodes = status_.find("nodes");
    if (nodes == status_.end() || !nodes->is_array()) return;
    for (const json& node : *nodes) {
      if (!node.is_object()) continue;
      ++states[text(node, "state")];
      if (!waits && number(node, "node_rank").value_or(-1) >= 0)
        ranks += number(node, "workers").value_or(0);
    }
    begin(Family::kNodes);
    for (const auto& [state, count] : states) text_.add(count, {{"state", state}});
    one(Family::kRanks, ranks);
  }

  void times(const JobTimes& times) {
    begin(Family::kRestarts);
    for (const auto& [cause, total] : times.causes)
      text_.add(static_cast<double>(total.count), {{"cause", cause}});
    begin(Family::kRestartTime);
    for (const auto& [cause, total] : times.causes)
      text_.add(seconds(total.time), {{"cause", cause}});
    begin(Family::kPhaseTime);
    for (size_t i = 0; i < elastic::kRestartPhases; ++i) {
      const auto phase = static_cast<elastic::RestartPhase>(i);
      text_.add(seconds(times.phases.at(i)), {{"phase", std::string(to_string(phase))}});
    }
    one(Family::kCharged, number(status_, "restarts_used"));
    one(Family::kAllowed, number(status_, "max_restarts"));
    begin(Family::kStateTime);
    for (const auto& [state, time] : times.states) text_.add(seconds(time), {{"state", state}});
    begin(Family::kRendezvous);
    text_.add_summary(seconds(times.rendezvous), static_cast<double>(times.rounds));
    one(Family::kProductive, times.productive_ratio);
  }

  void node() {
    one(Family::kWorkers, static_cast<double>(facts_.worker_count));
    worker(Family::kCpu, [](const ProcessUsage& usage) { return seconds(usage.cpu); });
    worker(Family::kResident,
           [](const ProcessUsage& usage) { return static_cast<double>(usage.resident_bytes); });
    worker(Family::kProcesses, [](const ProcessUsage& usage) { return usage.processes; });
    progress();
    one(Family::kDropped, static_cast<double>(facts_.lines_dropped));
  }

  template <typename Value>
  void worker(Family family, Value value) {
    begin(family);
    for (const WorkerUsage& each : facts_.workers)
      text_.add(value(each.usage), {{"rank", std::to_string(each.rank)}});
  }

  // The leader's status has that of the job.
  void progress() {
    const auto told = status_.find("progress");
    const bool of_job = told != status_.end() && told->is_object();
    const json progress = of_job ? *told : object_in(facts_.progress);
    one(Family::kStep, number(progress, "step"));
    one(Family::kEndStep, number(progress, "total"));
    one(Family::kEpoch, number(progress, "epoch"));
    one(Family::kRate, number(progress, "rate"));
    one(Family::kEta, number(progress, "eta_s"));
    one(Family::kUnmoved, number(progress, "unmoved_s"));
    begin(Family::kMetric);
    const auto metrics = progress.find("metrics");
    if (metrics == progress.end() || !metrics->is_object()) return;
    for (const auto& [name, value] : metrics->items())
      if (value.is_number()) text_.add(value.get<double>(), {{"name", name}});
  }

  const MetricFacts& facts_;
  const json status_;
  Exposition text_;
};

}  // namespace

std::string job_metrics(const MetricFacts& facts, ExpositionFormat format) {
  return JobMetrics(facts, format).write();
}

std::span<const MetricFamily> metric_families() { return kFamilies; }

}  // namespace muster::launcher
