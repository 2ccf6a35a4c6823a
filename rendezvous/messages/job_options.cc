#include "rendezvous/messages/job_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "rendezvous/messages/node_identity.h"

namespace muster::rendezvous {

namespace {

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// Whole seconds > 0, as torchrun wants them; none = the key is not there.
Result<std::optional<int64_t>> positive(const std::map<std::string, std::string>& conf,
                                        const std::string& key) {
  const auto found = conf.find(key);
  if (found == conf.end()) return std::optional<int64_t>();
  const auto number = parse_integer(found->second);
  constexpr int64_t kLongest = 10LL * 365 * 24 * 3600;
  if (!number || *number <= 0 || *number > kLongest) {
    return usage(fmt::format("--rdzv-conf {}={}: must be a whole number of seconds > 0", key,
                             found->second));
  }
  return std::optional<int64_t>(*number);
}

// Sizes that were asked for and that no number of nodes will ever meet. A launcher apart is no node
// to the user.
Status check_steps(const JobOptions& options) {
  const int apart = options.rule.has_apart() ? 1 : 0;
  const int min = options.min_nodes;
  if (options.max_nodes > min && options.nodes_step > options.max_nodes - min) {
    return usage(fmt::format("--nnodes-step {}: from {} on it leads to no further size up to {}",
                             options.nodes_step, min - apart, options.max_nodes - apart));
  }
  for (const int size : options.allowed_nodes) {
    const bool within = size >= min && size <= options.max_nodes;
    if (within && (size - min) % options.nodes_step != 0) {
      return usage(fmt::format("--nnodes-allowed {}: from {} on --nnodes-step {} does not meet it",
                               size - apart, min - apart, options.nodes_step));
    }
  }
  return {};
}

}  // namespace

LeaseTimes lease_times(Duration lease) {
  // A heartbeat and its answer wake a node twice; at rest that is less than two times a second.
  constexpr Duration kLongestHeartbeat = std::chrono::milliseconds(1200);
  const auto heartbeat = std::min(kLongestHeartbeat, lease / 20);
  const auto suspect = std::min<Duration>(std::chrono::seconds(3), lease / 10);
  return {.heartbeat = heartbeat,
          .suspect = suspect,
          .touch = suspect + heartbeat,
          .fence = lease / 10 * 8,
          .lease = lease};
}

bool size_allowed(const JobOptions& options, int nodes) {
  if (nodes < options.min_nodes || nodes > options.max_nodes) return false;
  if ((nodes - options.min_nodes) % options.nodes_step != 0) return false;
  return options.allowed_nodes.empty() ||
         std::binary_search(options.allowed_nodes.begin(), options.allowed_nodes.end(), nodes);
}

bool every_size_allowed(const JobOptions& options) {
  const bool steps = options.nodes_step > 1 || !options.allowed_nodes.empty();
  return !steps || options.min_nodes == options.max_nodes;
}

std::optional<int> largest_allowed(const JobOptions& options, int nodes) {
  for (int size = std::min(nodes, options.max_nodes); size >= options.min_nodes; --size) {
    if (size_allowed(options, size)) return size;
  }
  return std::nullopt;
}

int most_nodes(const JobOptions& options) {
  if (options.known_nodes) return options.max_nodes;
  return std::max(options.max_nodes + options.spares,
                  static_cast<int>(options.expected_nodes.size()));
}

Status check(const JobOptions& options) {
  if (options.min_nodes < 1 || options.min_nodes > options.max_nodes ||
      options.max_nodes > kMaxNodes) {
    return usage(fmt::format("--nnodes {}:{}: need 1 <= min <= max <= {}", options.min_nodes,
                             options.max_nodes, kMaxNodes));
  }
  if (options.nodes_step < 1)
    return usage(fmt::format("--nnodes-step {}: must be >= 1", options.nodes_step));
  if (options.spares < 0) return usage(fmt::format("--spares {}: must be >= 0", options.spares));
  MUSTER_RETURN_IF_ERROR(check_steps(options));
  if (!largest_allowed(options, options.max_nodes)) {
    return usage(fmt::format("--nnodes-allowed: no size between {} and {} is in the list",
                             options.min_nodes, options.max_nodes));
  }
  if (options.lease < kMinLease) {
    return usage(fmt::format("--lease {}: must be at least {}", format_duration(options.lease),
                             format_duration(kMinLease)));
  }
  return {};
}

Status apply_rdzv_conf(JobOptions& options, const std::map<std::string, std::string>& conf) {
  const auto join = positive(conf, "join_timeout");
  if (!join) return Error(join.error());
  const auto last_call = positive(conf, "last_call_timeout");
  if (!last_call) return Error(last_call.error());
  const auto interval = positive(conf, "keep_alive_interval");
  if (!interval) return Error(interval.error());
  const auto attempts = positive(conf, "keep_alive_max_attempt");
  if (!attempts) return Error(attempts.error());
  if (*join) options.join_timeout = std::chrono::seconds(**join);
  if (*last_call) options.last_call = std::chrono::seconds(**last_call);
  if (*interval || *attempts) {
    // torchrun's defaults of the one that is not given: 5 s and 3.
    const Duration lease = std::chrono::seconds(interval->value_or(5)) *
                           std::min<int64_t>(attempts->value_or(3), 1000);
    options.lease = std::max(lease, kMinLease);
  }
  return {};
}

}  // namespace muster::rendezvous
