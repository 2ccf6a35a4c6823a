#include "launcher/resolve_rendezvous.h"

#include <fmt/core.h>

#include <utility>

#include "base/socket.h"
#include "launcher/job_setup.h"
#include "launcher/option_values.h"
#include "launcher/rendezvous_values.h"
#include "launcher/resolve_framework.h"

namespace muster::launcher {

void RendezvousResolver::read() {
  options_.backend = flags_.read(Flag::kRdzvBackend, parse_backend);
  options_.rdzv_endpoint = flags_.text(Flag::kRdzvEndpoint);
  endpoints_ = flags_.read(Flag::kRdzvEndpoint, parse_endpoints);
  options_.nodes.hosts = flags_.text(Flag::kHosts);
  options_.nodes.admit = flags_.read(Flag::kAdmit, parse_networks);
  options_.rdzv_conf = flags_.read(Flag::kRdzvConf, parse_rdzv_conf);
  for (const auto& [key, value] : options_.rdzv_conf) {
    const std::string_view why = without_effect(key, options_.backend);
    if (!why.empty())
      flags_.warn(fmt::format("{}: key '{}' {}", flags_.label(Flag::kRdzvConf), key, why));
  }
  const int node_rank = flags_.read(Flag::kNodeRank, parse_node_rank);
  if (flags_.is_given(Flag::kNodeRank)) options_.node_rank = node_rank;
  // Whether somebody gave them matters (standalone mode), so torchrun's defaults stay out here.
  if (flags_.is_given(Flag::kMasterAddr)) options_.master_addr = flags_.text(Flag::kMasterAddr);
  if (flags_.is_given(Flag::kMasterPort))
    options_.master_port = flags_.read(Flag::kMasterPort, parse_port);
  const std::string local_addr = flags_.text(Flag::kLocalAddr);
  if (!local_addr.empty()) options_.local_addr = local_addr;
  if (!local_addr.empty() && !may_have_others(options_) && !parse_numeric_host(local_addr)) {
    flags_.warn(flags_.label(Flag::kLocalAddr) +
                " has no effect on one node unless it is an address");
  }
  options_.nodes.lease = flags_.read(Flag::kLease, parse_lease);
  options_.nodes.replace_wait = flags_.read(Flag::kReplaceWait, parse_pause);
  options_.nodes.scale_up_interval = flags_.read(Flag::kScaleUpInterval, parse_pause);
  options_.nodes.scale_up_quiet = flags_.read(Flag::kScaleUpQuiet, parse_pause);
}

void RendezvousResolver::settle() {
  const bool told_alone = flags_.is_on(Flag::kStandalone) || options_.framework.uses_sshd();
  if (!flags_.is_given(Flag::kNnodes) && !options_.nodes.hosts.empty() && !told_alone) {
    return flags_.fail(flags_.label(Flag::kHosts) +
                       " lists the nodes of a job: --nnodes must say how many of them it has");
  }
  const std::string source = standalone_source();
  const bool named = !endpoints_.empty() || !options_.nodes.hosts.empty();
  const bool c10d = options_.backend == RendezvousBackend::kC10d;
  if (const auto why = role_problem(options_.framework.role, {c10d, named, source}); !why.empty())
    return flags_.fail(Flag::kMpiRole, why);
  if (!source.empty()) return settle_standalone(source);
  settle_run_id("");
  const bool is_static = options_.backend == RendezvousBackend::kStatic;
  const bool meets_at_endpoint = !is_static && options_.nodes.hosts.empty();
  if (!endpoints_.empty() && !options_.nodes.hosts.empty())
    flags_.warn(flags_.label(Flag::kHosts) +
                " has no effect: " + flags_.label(Flag::kRdzvEndpoint) + " counts");
  if (!may_have_others(options_) && endpoints_.size() > 1)
    flags_.warn(flags_.label(Flag::kRdzvEndpoint) +
                " names several hosts, but --nnodes is 1: it runs alone");
  if (meets_at_endpoint && endpoints_.empty()) {
    if (options_.backend == RendezvousBackend::kEtcd) {
      return flags_.fail(Flag::kRdzvBackend,
                         "--rdzv-endpoint HOST[:PORT],... must say where etcd is");
    }
    // As muster run, the nodes are discovered when no endpoint is given.
    if (flags_.dialect() != Dialect::kMuster) {
      options_.rdzv_endpoint = "localhost:" + std::to_string(kDefaultRendezvousPort);
      flags_.derive(Flag::kRdzvEndpoint, options_.rdzv_endpoint,
                    flags_.label(Flag::kRdzvBackend) + " c10d");
    }
  }
  check_endpoints();
  if (is_static) return check_static();
  // It orders the nodes; spares may have more.
  const int rank = options_.node_rank.value_or(0);
  if (rank >= options_.max_nodes + options_.nodes.spares &&
      flags_.on_command_line(Flag::kNodeRank)) {
    flags_.warn(fmt::format("{} {}: {} {} has no such node rank; it only orders the nodes",
                            flags_.label(Flag::kNodeRank), rank, flags_.label(Flag::kNnodes),
                            flags_.text(Flag::kNnodes)));
  }
}

std::string RendezvousResolver::standalone_source() const {
  if (flags_.is_on(Flag::kStandalone)) return flags_.label(Flag::kStandalone);
  if (options_.framework.uses_sshd())
    return flags_.label(Flag::kMpiTransport) + " " + flags_.text(Flag::kMpiTransport);
  // torchrun 2.12+ implies it with its default, static; c10d is Muster's default.
  const bool fits =
      options_.backend == RendezvousBackend::kStatic ||
      (options_.backend == RendezvousBackend::kC10d && flags_.dialect() == Dialect::kMuster);
  const bool alone = !may_have_others(options_) && !options_.framework.needs_others() &&
                     endpoints_.empty() && !options_.master_port;
  return fits && alone ? "one node" : "";
}

void RendezvousResolver::settle_standalone(const std::string& source) {
  // torchrun waits here for nodes that cannot know the port. "1:4" can start alone, and does.
  if (options_.min_nodes > 1) {
    return flags_.fail(source + " means one node, but " + flags_.label(Flag::kNnodes) + " is '" +
                       flags_.text(Flag::kNnodes) + "'");
  }
  // Variables are often set by a controller for all its jobs; only what was typed is worth a word.
  for (const Flag flag : {Flag::kRdzvEndpoint, Flag::kMasterPort, Flag::kHosts, Flag::kNnodesStep,
                          Flag::kNnodesAllowed, Flag::kSpares}) {
    if (flags_.on_command_line(flag))
      flags_.warn(flags_.label(flag) + " has no effect with " + source);
  }
  // Pods that each believe to be a job of one train side by side unnoticed.
  if (options_.node_rank.value_or(0) > 0) {
    flags_.warn(
        flags_.label(Flag::kNodeRank) + " " + flags_.text(Flag::kNodeRank) +
        " has no effect: with one node, this one is a job of its own (is --nnodes missing?)");
  }
  if (options_.max_nodes > 1) flags_.derive(Flag::kNnodes, "1:1", source);
  if (options_.node_rank.value_or(0) > 0) flags_.derive(Flag::kNodeRank, "0", source);
  settle_run_id(source);
  options_.standalone = true;
  options_.backend = RendezvousBackend::kC10d;
  options_.rdzv_endpoint = "localhost:0";
  options_.max_nodes = 1;
  options_.node_rank.reset();
  options_.master_addr.clear();
  options_.master_port.reset();
  flags_.derive(Flag::kStandalone, "true", source);
  flags_.derive(Flag::kRdzvBackend, "c10d", source);
  flags_.derive(Flag::kRdzvEndpoint, options_.rdzv_endpoint, source);
  flags_.derive(Flag::kMasterAddr, "", source);
  flags_.derive(Flag::kMasterPort, "", source);
}

void RendezvousResolver::settle_run_id(const std::string& source) {
  const bool empty = options_.run_id.empty();
  const bool unnamed = options_.run_id == flags_.fallback(Flag::kRdzvId);
  // Under the same id all jobs of an etcd would be one.
  if (unnamed && source.empty() && options_.backend == RendezvousBackend::kEtcd) {
    const std::string problem = flags_.label(Flag::kRdzvBackend) + " " +
                                flags_.text(Flag::kRdzvBackend) +
                                " without --rdzv-id: every such job has the id 'none'";
    flags_.dialect() == Dialect::kMuster ? flags_.fail(problem) : flags_.warn(problem);
  }
  // torchrun replaces even an id that was given.
  const bool replaced = !source.empty() && (unnamed || flags_.dialect() != Dialect::kMuster);
  if (empty) flags_.warn(flags_.label(Flag::kRdzvId) + " is empty, using a random id");
  if (!empty && !replaced) return;
  options_.run_id = random_run_id(random_);
  flags_.derive(Flag::kRdzvId, options_.run_id, source.empty() ? "random" : "random, " + source);
}

void RendezvousResolver::check_static() {
  if (!endpoints_.empty() && !endpoints_.front().port) {
    return flags_.fail(Flag::kRdzvEndpoint, "the static backend needs HOST:PORT");
  }
  // torchrun's nodes are rank 0 unless told otherwise, and of one node of its jobs that is true.
  const bool untold = !options_.node_rank && !options_.framework.launches();
  if (untold && options_.max_nodes > 1 && flags_.dialect() == Dialect::kMuster) {
    return flags_.fail(
        fmt::format("the static backend with {} nodes needs --node-rank on each: "
                    "0 leads, the others wait for it",
                    options_.max_nodes));
  }
  if (options_.node_rank.value_or(0) >= options_.max_nodes) {
    return flags_.fail(Flag::kNodeRank, fmt::format("--nnodes is {}, so the largest is {}",
                                                    options_.max_nodes, options_.max_nodes - 1));
  }
  if (options_.min_nodes != options_.max_nodes) {
    flags_.warn(fmt::format("{} {}: the static backend always waits for all {} nodes",
                            flags_.label(Flag::kNnodes), flags_.text(Flag::kNnodes),
                            options_.max_nodes));
  }
}

// Port 0 is chosen by whoever listens; other nodes cannot know it.
void RendezvousResolver::check_endpoints() {
  if (options_.min_nodes == 1) return;
  constexpr std::string_view kUnknown = "port 0 is any free port, which other nodes cannot know";
  if (options_.master_port == 0) return flags_.fail(Flag::kMasterPort, kUnknown);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port == 0) return flags_.fail(Flag::kRdzvEndpoint, kUnknown);
  }
}

}  // namespace muster::launcher
