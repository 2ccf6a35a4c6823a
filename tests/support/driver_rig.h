// DriverRig: a framework's driver with a host that notes what it is asked. For tests of drivers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/agent_rig.h"

namespace muster::launcher {

class DriverRig : public AgentRig {
 protected:
  DriverHost host() {
    context_.emplace(context());
    return {.doors = doors(),
            .context = *context_,
            .job = job_,
            .own_host = "127.0.0.1",
            .tls = nullptr,
            .serve = [](rendezvous::Protocol, const rendezvous::JobPort::Handler&) {},
            .serve_workers = [](rendezvous::Protocol, const rendezvous::JobPort::Handler&,
                                const std::function<size_t()>&) {},
            .prepared = [](const Status&) {},
            .failed = [](const elastic::FailureRecord&) {},
            .decided = [this](rendezvous::JobDecision decision) { decided_.push_back(decision); },
            .idle = [] {},
            .ranks_gone = [] {},
            .exchange = [this](uint64_t, std::string bytes) { given_.push_back(std::move(bytes)); },
            .nodes = [] { return std::vector<rendezvous::RosterEntry>{}; },
            .hosts_changed = [](int) {},
            .log_dir = [] { return std::string(); },
            .workers = [this] { return workers_; },
            .process_of = [](int) { return std::optional<pid_t>(); },
            .kill = [](int) {},
            .resolve = [this](int local_rank,
                              bool again) { resolved_.emplace_back(local_rank, again); },
            .signal = [](int) {},
            .end_workers = [this](Duration) { ++ended_; }};
  }
  // Of nodes with so many workers each, as node `node_rank` sees it.
  rendezvous::Assign round(const std::vector<int>& workers, int node_rank = 0) {
    rendezvous::Assign round;
    round.node_rank = node_rank;
    round.node_count = static_cast<int>(workers.size());
    round.master_host = "10.0.0.1";
    round.master_port = 29400;
    round.world_size = 0;
    for (size_t node = 0; node < workers.size(); ++node) {
      if (static_cast<int>(node) < node_rank) round.rank_offset += workers[node];
      round.world_size += workers[node];
      rendezvous::RosterEntry entry;
      entry.identity.name = "pod_" + std::to_string(node);
      entry.host = "10.0.0." + std::to_string(node + 1);
      entry.workers = workers[node];
      round.roster.push_back(std::move(entry));
    }
    return round;
  }
  // What a worker finds of that name; "" = nothing.
  static std::string variable_of(const FrameworkDriver& driver, const rendezvous::Assign& round,
                                 int local_rank, const std::string& name,
                                 const Environment& user = {}) {
    EnvironmentPlan plan;
    EXPECT_TRUE(driver.add_variables(round, local_rank, plan));
    return std::string(plan.merge(user).environment.get(name).value_or(""));
  }

  rendezvous::JobOptions job_;
  std::optional<AgentContext> context_;
  int workers_ = 1;
  std::vector<rendezvous::JobDecision> decided_;
  std::vector<std::string> given_;              // to exchanges
  std::vector<std::pair<int, bool>> resolved_;  // of workers that were kept
  int ended_ = 0;                               // how often all workers were to end
};

}  // namespace muster::launcher
