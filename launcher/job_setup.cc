#include "launcher/job_setup.h"

#include <fmt/core.h>

#include <utility>

#include "launcher/option_values.h"
#include "rendezvous/node_identity.h"

namespace muster::launcher {

namespace {

// torchrun's default of --master-port.
constexpr int kDefaultMasterPort = 29'500;

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<Address> address_of(const std::string& host, int port) {
  if (host == "localhost") return Address{"127.0.0.1", static_cast<uint16_t>(port)};
  const auto numeric = parse_numeric_host(host);
  if (!numeric) {
    return usage(fmt::format("--rdzv-endpoint '{}': the host must be a numeric address", host));
  }
  return Address{*numeric, static_cast<uint16_t>(port)};
}

}  // namespace

bool has_many_nodes(const Options& options) { return !options.standalone && options.max_nodes > 1; }

Result<rendezvous::JobOptions> job_options(const Options& options, bool secured) {
  rendezvous::JobOptions job;
  job.run_id = options.run_id;
  job.secured = secured;
  job.known_nodes = options.backend == RendezvousBackend::kStatic;
  job.min_nodes = job.known_nodes ? options.max_nodes : options.min_nodes;
  job.max_nodes = options.max_nodes;
  job.nodes_step = options.nodes.step;
  job.allowed_nodes = options.nodes.allowed;
  job.spares = options.nodes.spares;
  job.lease = options.nodes.lease;
  job.replace_wait = options.nodes.replace_wait;
  job.stop_grace = options.grace_period;
  job.lost_grace = std::min(job.lost_grace, options.grace_period);
  MUSTER_RETURN_IF_ERROR(rendezvous::apply_rdzv_conf(job, options.rdzv_conf));
  MUSTER_RETURN_IF_ERROR(rendezvous::check(job));
  return job;
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

Result<std::vector<Address>> candidate_addresses(const Options& options) {
  std::vector<Address> addresses;
  auto endpoints = parse_endpoints(options.rdzv_endpoint);
  if (!endpoints) return std::move(endpoints).error().with_context("--rdzv-endpoint");
  for (const Endpoint& endpoint : *endpoints) {
    auto address = address_of(endpoint.host, endpoint.port.value_or(kDefaultRendezvousPort));
    if (!address) return std::move(address).error();
    addresses.push_back(std::move(*address));
  }
  if (addresses.empty() && !options.master_addr.empty()) {
    auto address =
        address_of(options.master_addr, options.master_port.value_or(kDefaultMasterPort));
    if (!address) return std::move(address).error();
    addresses.push_back(std::move(*address));
  }
  if (addresses.empty()) {
    return usage(
        fmt::format("--nnodes {}: needs --rdzv-endpoint HOST:PORT[,HOST:PORT...], the "
                    "same on every node",
                    options.max_nodes));
  }
  if (addresses.size() > rendezvous::kMaxCandidates) {
    return usage(fmt::format("--rdzv-endpoint: {} endpoints, at most {}", addresses.size(),
                             rendezvous::kMaxCandidates));
  }
  return addresses;
}

}  // namespace muster::launcher
