#include "launcher/program/status_service.h"

#include <algorithm>
#include <utility>

#include "base/process_usage.h"
#include "base/socket.h"
#include "launcher/progress/progress_watch.h"

namespace muster::launcher {

std::optional<Address> status_address(const Options& options, const Environment& environment,
                                      bool has_contract) {
  const bool in_pod = has_contract || environment.has("KUBERNETES_SERVICE_HOST");
  const int port = options.status_port.value_or(in_pod ? kPodStatusPort : 0);
  if (port == 0) return std::nullopt;
  const std::string everywhere = in_pod ? "::" : "127.0.0.1";
  const auto own = parse_numeric_host(options.local_addr.value_or(""));
  return Address{own.value_or(everywhere), static_cast<uint16_t>(port)};
}

StatusService::StatusService(const AgentDoors& doors, JournalPlace place, Journal* journal,
                             std::string mark)
    : doors_(doors),
      place_(std::move(place)),
      journal_(journal),
      mark_(std::move(mark)),
      started_(doors.clock.wall_now()) {
  if (journal_ == nullptr) {
    log::set_recorder([this](const log::Event& event) { record(event); });
  } else {
    journal_->on_line(
        [this](std::string_view id, std::string_view line) { events_.add(id, line); });
  }
}

StatusService::~StatusService() {
  if (journal_ == nullptr) {
    log::set_recorder({});
  } else {
    journal_->on_line({});
  }
}

void StatusService::record(const log::Event& event) {
  const std::string id = mark_ + "-" + std::to_string(++last_seq_);
  events_.add(id, journal_line(place_, {last_seq_, id, doors_.clock.wall_now(), doors_.clock.now()},
                               event));
}

std::unique_ptr<StatusPort> StatusService::serve(const Address& address,
                                                 const AgentContext& context,
                                                 const std::function<NodeFacts()>& facts) {
  auto port = std::make_unique<StatusPort>(
      doors_.loop, doors_.network, events_,
      StatusSources{
          .status = [this, facts] { return status(facts); },
          .metrics = [this, facts, &context](
                         ExpositionFormat format) { return metrics(context, facts(), format); },
          .is_stopping = [facts] { return facts().stops; }});
  const auto listening = port->listen(address);
  if (listening) {
    log::debug("status_port.open", {{"address", listening->to_string()}});
    return port;
  }
  log::warning("status_port.failed",
               {{"error", listening.error().text},
                {"action", "the job goes on without it; --status-port names another one"}});
  return nullptr;
}

std::string StatusService::status(const std::function<NodeFacts()>& facts) {
  const TimePoint now = doors_.loop.now();
  if (!status_at_ || now >= *status_at_ + kMeasuredAgain) {
    status_ = facts().status();
    status_at_ = now;
  }
  return status_;
}

std::string StatusService::metrics(const AgentContext& context, const NodeFacts& facts,
                                   ExpositionFormat format) {
  measure(facts);
  MetricFacts known;
  known.status = facts.status();
  known.job = place_.job;
  known.node = place_.node;
  known.leads = facts.leads;
  if (context.progress != nullptr) known.progress = context.progress->json();
  if (context.timeline != nullptr) known.times = context.timeline->times();
  known.worker_count = facts.workers.size();
  known.workers = measured_;
  known.lines_dropped = doors_.console.lines_lost();
  known.started = started_;
  return job_metrics(known, format);
}

// Reading /proc takes a moment for workers with many threads. The time of a process that nobody
// waited for is gone with it, but a counter must not fall.
void StatusService::measure(const NodeFacts& facts) {
  const TimePoint now = doors_.loop.now();
  if (measured_at_ && now < *measured_at_ + kMeasuredAgain) return;
  measured_at_ = now;
  const std::vector<WorkerUsage> before = std::exchange(measured_, {});
  for (const WorkerProcess& worker : facts.workers) {
    if (measured_.size() == kMaxMeasuredWorkers) break;
    WorkerUsage each{worker.rank, worker.pid, usage_of_tree(worker.pid)};
    for (const WorkerUsage& last : before)
      if (last.rank == each.rank && last.pid == each.pid)
        each.usage.cpu = std::max(each.usage.cpu, last.usage.cpu);
    measured_.push_back(each);
  }
}

}  // namespace muster::launcher
