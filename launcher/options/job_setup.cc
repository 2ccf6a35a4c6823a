#include "launcher/options/job_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace muster::launcher {

namespace {

// What only the leader's policy looks at; a node that was told otherwise hears so.
std::string_view name_of(rendezvous::HealthChecks checks) {
  switch (checks) {
    case rendezvous::HealthChecks::kOff:
      return "off";
    case rendezvous::HealthChecks::kLocal:
      return "local";
    case rendezvous::HealthChecks::kPairs:
      return "pairs";
  }
  return "";
}

std::vector<rendezvous::Setting> leader_settings(const Options& options) {
  const auto seconds = [](Duration duration) { return fmt::format("{}s", to_seconds(duration)); };
  const NodeOptions& nodes = options.nodes;
  const NodeOptions plain;
  return {
      {"--max-restarts", std::to_string(options.max_restarts), "0"},
      {"--restart-backoff", seconds(options.restart_backoff), seconds(Duration::zero())},
      {"--restart-window", nodes.restart_window ? seconds(*nodes.restart_window) : "none", "none"},
      {"--scale-up-interval", seconds(nodes.scale_up_interval), seconds(plain.scale_up_interval)},
      {"--scale-up-quiet", seconds(nodes.scale_up_quiet), seconds(plain.scale_up_quiet)},
      {"--health-check", std::string(name_of(options.health_checks)), "off"},
      {"--health-cooldown", seconds(options.health_cooldown), seconds(Options().health_cooldown)}};
}

// What a framework asks of the rounds of its jobs. No other place maps one to the other.
rendezvous::RoundRule round_rule(const FrameworkOptions& framework) {
  rendezvous::RoundRule rule;
  if (framework.is_elastic()) rule.takes_part = rendezvous::TakesPart::kLeadersNode;
  if (framework.starts_launcher()) rule.decides = rendezvous::Decides::kFirstNode;
  if (framework.launches()) rule.first = rendezvous::FirstNode::kAppointed;
  if (framework.role == MpiRole::kLauncher) rule.first = rendezvous::FirstNode::kApart;
  return rule;
}

// A worker that starts nothing itself need not know which of the first two it is.
rendezvous::Setting start_setting(const FrameworkOptions& framework) {
  const std::string served = "mpirun or command";
  const std::string elastic = "elastic";
  rendezvous::Setting start{"--mpi-launch", served, served, elastic};
  if (framework.starts_ranks()) {
    start.value = framework.uses_pmi() ? "pmi" : "pmix";
    start.alike.clear();
  }
  if (framework.is_elastic()) {
    start.value = elastic;
    start.alike = served;
  }
  return start;
}

void set_role(rendezvous::JobOptions& job, const FrameworkOptions& framework) {
  job.rule = round_rule(framework);
  job.start = start_setting(framework);
  if (framework.is_mpi()) job.framework = "mpi";
  // Who comes later is taken in all the same.
  if (job.rule.leader_alone()) job.last_call = Duration::zero();
  job.sizes_known = framework.role != MpiRole::kWorker;
  if (!job.rule.has_apart()) return;
  ++job.min_nodes;
  ++job.max_nodes;
  for (int& size : job.allowed_nodes) ++size;
}

// torchrun's static and etcd backends have one time for all of the rendezvous. Where it is given
// together with c10d's and etcd-v2's, that one is the more exact.
std::map<std::string, std::string> rendezvous_keys(const Options& options) {
  auto keys = options.rdzv_conf;
  const auto timeout = keys.find("timeout");
  if (timeout != keys.end() && options.backend != RendezvousBackend::kC10d)
    keys.try_emplace("join_timeout", timeout->second);
  return keys;
}

}  // namespace

bool may_have_others(const Options& options) {
  const bool takes_spares = options.backend != RendezvousBackend::kStatic;
  return options.max_nodes > 1 || (takes_spares && options.nodes.spares > 0);
}

bool has_many_nodes(const Options& options) {
  return !options.standalone && (may_have_others(options) || options.framework.needs_others());
}

bool needs_node_agent(const Options& options) {
  return has_many_nodes(options) || options.framework.starts_launcher();
}

Result<rendezvous::JobOptions> job_options(const Options& options, bool secured) {
  rendezvous::JobOptions job;
  job.run_id = options.run_id;
  job.secured = secured;
  job.known_nodes = options.backend == RendezvousBackend::kStatic;
  job.min_nodes = job.known_nodes ? options.max_nodes : options.min_nodes;
  job.max_nodes = options.max_nodes;
  job.nodes_step = options.nodes.step;
  job.allowed_nodes = options.nodes.allowed;
  set_role(job, options.framework);
  job.spares = options.nodes.spares;
  job.lease = options.nodes.lease;
  job.replace_wait = options.nodes.replace_wait;
  job.stop_grace = options.grace_period;
  job.preempt_notify_all = options.nodes.preempt_notify_all;
  job.health_checks = options.health_checks;
  job.health_cooldown = options.health_cooldown;
  job.lost_grace = std::min(job.lost_grace, options.grace_period);
  job.leader_settings = leader_settings(options);
  MUSTER_RETURN_IF_ERROR(rendezvous::apply_rdzv_conf(job, rendezvous_keys(options)));
  if (job.rule.leader_alone() && job.known_nodes) {
    return Error{Code::kUsage, 0,
                 "--mpi-launch elastic: the static backend knows all nodes beforehand"};
  }
  MUSTER_RETURN_IF_ERROR(rendezvous::check(job));
  return job;
}

std::optional<int> wanted_nodes(const rendezvous::JobOptions& job, int hosts) {
  if (job.min_nodes == job.max_nodes) return std::nullopt;
  const int nodes = hosts + (job.rule.has_apart() ? 1 : 0);
  for (int size = job.min_nodes; size <= job.max_nodes; ++size) {
    if (size_allowed(job, size)) return largest_allowed(job, nodes).value_or(size);
  }
  return std::nullopt;
}

elastic::RoundPolicyOptions round_policy_options(const Options& options) {
  elastic::RoundPolicyOptions policy;
  policy.restarts = {options.max_restarts, options.restart_backoff};
  policy.window = options.nodes.restart_window;
  policy.stop_crash_loops = options.personality != Personality::kTorchrun;
  policy.scale_up_interval = options.nodes.scale_up_interval;
  policy.scale_up_quiet = options.nodes.scale_up_quiet;
  policy.replace_wait = options.nodes.replace_wait;
  return policy;
}

uint64_t random_number(const std::string& token) {
  uint64_t number = 0;
  for (const char digit : token.substr(0, 16))
    number = number * 16 + static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  return number;
}

}  // namespace muster::launcher
