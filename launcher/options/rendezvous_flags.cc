// The flags that say where and how the nodes of a job meet: standalone mode, static and elastic
// rendezvous, the run's id.
#include <fmt/core.h>

#include <utility>

#include "base/socket.h"
#include "base/text.h"
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/mpi_flags.h"
#include "launcher/options/option_values.h"
#include "launcher/options/random_run_id.h"
#include "launcher/options/rendezvous_values.h"

namespace muster::launcher {

namespace {

constexpr Choice<RendezvousBackend> kBackends[] = {{"static", RendezvousBackend::kStatic},
                                                   {"c10d", RendezvousBackend::kC10d},
                                                   {"etcd", RendezvousBackend::kEtcd},
                                                   {"etcd-v2", RendezvousBackend::kEtcd}};

// As it is written, if it can be read.
Result<std::string> checked_endpoints(std::string_view text) {
  MUSTER_RETURN_IF_ERROR(parse_endpoints(text));
  return std::string(text);
}

// Whether somebody gave the place of node rank 0 matters (standalone mode), so torchrun's defaults
// are only shown.
constexpr FlagRow kRows[] = {
    {.name = "standalone",
     .kind = FlagKind::kSwitch,
     .into = to<&Options::standalone, as_switch>,
     .help = "one node with a free port; other rendezvous flags are ignored"},
    {.name = "rdzv-backend",
     .fallback = "c10d",
     .torchrun_fallback = "static",
     .placeholder = "NAME",
     .into = one_of<&Options::backend, kBackends>,
     .help = "static, c10d, etcd or etcd-v2"},
    {.name = "rdzv-endpoint",
     .placeholder = "HOST[:PORT],...",
     .into = to<&Options::rdzv_endpoint, checked_endpoints>,
     .help = "where the nodes meet, in order of preference: names, addresses, worker-[0-3], "
             "worker-%d, dns:SERVICE; [ADDRESS]:PORT for IPv6, port 29400 when left out"},
    {.name = "hosts",
     .origin = Origin::kMuster,
     .placeholder = "LIST|@FILE",
     .into = to<&NodeOptions::hosts, as_text>,
     .help =
         "all nodes, written as for --rdzv-endpoint; the first three of them may lead. A file, "
         "one node per line, may change while the job runs; its slots=N is --nproc-per-node there"},
    {.name = "rdzv-conf",
     .placeholder = "K=V,...",
     .into = to<&Options::rdzv_conf, parse_rdzv_conf>,
     .help = "settings of the rendezvous, times in seconds: join_timeout=600,..."},
    {.name = "node-rank",
     .fallback = "0",
     .placeholder = "N",
     .into = to<&Options::node_rank, parse_node_rank>,
     .fallback_counts = false,
     .help = "rank of this node; a place in their order, if the backend is not static"},
    {.name = "master-addr",
     .torchrun_fallback = "127.0.0.1",
     .placeholder = "HOST",
     .into = to<&Options::master_addr, as_text>,
     .fallback_counts = false,
     .help = "address of node rank 0, for the static backend"},
    {.name = "master-port",
     .torchrun_fallback = "29500",
     .placeholder = "PORT",
     .into = to<&Options::master_port, parse_port>,
     .fallback_counts = false,
     .help = "port of node rank 0, for the static backend; 0 = any free port"},
    {.name = "local-addr",
     .placeholder = "HOST",
     .into = to<&Options::local_addr, unless_empty<as_text>>,
     .help = "address under which this node announces itself"},
    {.name = "admit",
     .origin = Origin::kMuster,
     .placeholder = "NETWORK,...",
     .into = to<&NodeOptions::admit, parse_networks>,
     .help = "further addresses from which workers may reach the store, as 10.0.0.0/8: for nodes "
             "that do not come from the address they announced"},
    {.name = "lease",
     .origin = Origin::kMuster,
     .fallback = "30s",
     .placeholder = "TIME",
     .into = to<&NodeOptions::lease, parse_lease>,
     .help = "a node silent for so long is out of the job; at least 2s"},
    {.name = "replace-wait",
     .origin = Origin::kMuster,
     .fallback = "30s",
     .placeholder = "TIME",
     .into = to<&NodeOptions::replace_wait, parse_pause>,
     .help = "how long a lost node's place is kept before going on with fewer"},
    {.name = "scale-up-interval",
     .origin = Origin::kMuster,
     .fallback = "5m",
     .placeholder = "TIME",
     .into = to<&NodeOptions::scale_up_interval, parse_pause>,
     .help = "least time between two growths of a running job"},
    {.name = "scale-up-quiet",
     .origin = Origin::kMuster,
     .fallback = "1m",
     .placeholder = "TIME",
     .into = to<&NodeOptions::scale_up_quiet, parse_pause>,
     .help = "no growth for so long after any start of the workers"},
};

void check_rendezvous(FlagReader& flags, Options& options) {
  for (const auto& [key, value] : options.rdzv_conf) {
    const std::string_view why = without_effect(key, options.backend);
    if (!why.empty())
      flags.warn(fmt::format("{}: key '{}' {}", flags.label(flag::kRdzvConf), key, why));
  }
  if (options.local_addr && !may_have_others(options) && !parse_numeric_host(*options.local_addr)) {
    flags.warn(flags.label(flag::kLocalAddr) +
               " has no effect on one node unless it is an address");
  }
}

/// What the flags mean together.
class Settling {
 public:
  Settling(FlagReader& flags, Options& options);
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;
  void run();

 private:
  /// Who asked for standalone mode: "--standalone", a variable, "one node"; "" = nobody.
  [[nodiscard]] std::string standalone_source() const;
  void settle_standalone(const std::string& source);
  void settle_many_nodes();
  void warn_of_idle_places();
  /// Nobody said where the nodes meet.
  void settle_endpoint();
  void warn_of_rank();
  /// `source` of standalone mode; "" = not standalone.
  void settle_run_id(const std::string& source);
  void check_static();
  void check_endpoints();

  FlagReader& flags_;
  Options& options_;
  const std::vector<Endpoint> endpoints_;
};

Settling::Settling(FlagReader& flags, Options& options)
    : flags_(flags),
      options_(options),
      endpoints_(parse_endpoints(options.rdzv_endpoint).value_or(std::vector<Endpoint>())) {}

void Settling::run() {
  const bool told_alone = flags_.is_on(flag::kStandalone) || options_.framework.uses_sshd();
  if (!flags_.is_given(flag::kNnodes) && !options_.nodes.hosts.empty() && !told_alone) {
    return flags_.fail(flags_.label(flag::kHosts) +
                       " lists the nodes of a job: --nnodes must say how many of them it has");
  }
  const std::string source = standalone_source();
  const bool named = !endpoints_.empty() || !options_.nodes.hosts.empty();
  const bool c10d = options_.backend == RendezvousBackend::kC10d;
  if (const auto why = role_problem(options_.framework.role, {c10d, named, source}); !why.empty())
    return flags_.fail(flag::kMpiRole, why);
  if (!source.empty()) return settle_standalone(source);
  settle_many_nodes();
}

void Settling::settle_many_nodes() {
  settle_run_id("");
  const bool is_static = options_.backend == RendezvousBackend::kStatic;
  warn_of_idle_places();
  if (!is_static && options_.nodes.hosts.empty() && endpoints_.empty()) settle_endpoint();
  check_endpoints();
  is_static ? check_static() : warn_of_rank();
}

void Settling::warn_of_idle_places() {
  if (!endpoints_.empty() && !options_.nodes.hosts.empty())
    flags_.warn(flags_.label(flag::kHosts) +
                " has no effect: " + flags_.label(flag::kRdzvEndpoint) + " counts");
  if (!may_have_others(options_) && endpoints_.size() > 1)
    flags_.warn(flags_.label(flag::kRdzvEndpoint) +
                " names several hosts, but --nnodes is 1: it runs alone");
}

void Settling::settle_endpoint() {
  if (options_.backend == RendezvousBackend::kEtcd) {
    return flags_.fail(flag::kRdzvBackend,
                       "--rdzv-endpoint HOST[:PORT],... must say where etcd is");
  }
  // As muster run, the nodes are discovered when no endpoint is given.
  if (flags_.dialect() == Dialect::kMuster) return;
  options_.rdzv_endpoint = "localhost:" + std::to_string(kDefaultRendezvousPort);
  flags_.derive(flag::kRdzvEndpoint, options_.rdzv_endpoint,
                flags_.label(flag::kRdzvBackend) + " c10d");
}

// The rank orders the nodes; spares may have more.
void Settling::warn_of_rank() {
  const int rank = options_.node_rank.value_or(0);
  if (rank < options_.max_nodes + options_.nodes.spares || !flags_.on_command_line(flag::kNodeRank))
    return;
  flags_.warn(fmt::format("{} {}: {} {} has no such node rank; it only orders the nodes",
                          flags_.label(flag::kNodeRank), rank, flags_.label(flag::kNnodes),
                          flags_.text(flag::kNnodes)));
}

std::string Settling::standalone_source() const {
  if (flags_.is_on(flag::kStandalone)) return flags_.label(flag::kStandalone);
  if (options_.framework.uses_sshd())
    return flags_.label(flag::kMpiTransport) + " " + flags_.text(flag::kMpiTransport);
  // torchrun 2.12+ implies it with its default, static; c10d is Muster's default.
  const bool fits =
      options_.backend == RendezvousBackend::kStatic ||
      (options_.backend == RendezvousBackend::kC10d && flags_.dialect() == Dialect::kMuster);
  const bool alone = !may_have_others(options_) && !options_.framework.needs_others() &&
                     endpoints_.empty() && !options_.master_port;
  return fits && alone ? "one node" : "";
}

void Settling::settle_standalone(const std::string& source) {
  // torchrun waits here for nodes that cannot know the port. "1:4" can start alone, and does.
  if (options_.min_nodes > 1) {
    return flags_.fail(source + " means one node, but " + flags_.label(flag::kNnodes) + " is '" +
                       flags_.text(flag::kNnodes) + "'");
  }
  // Variables are often set by a controller for all its jobs; only what was typed is worth a word.
  for (const Flag flag : {flag::kRdzvEndpoint, flag::kMasterPort, flag::kHosts, flag::kNnodesStep,
                          flag::kNnodesAllowed, flag::kSpares}) {
    if (flags_.on_command_line(flag))
      flags_.warn(flags_.label(flag) + " has no effect with " + source);
  }
  // Pods that each believe to be a job of one train side by side unnoticed.
  if (options_.node_rank.value_or(0) > 0) {
    flags_.warn(
        flags_.label(flag::kNodeRank) + " " + flags_.text(flag::kNodeRank) +
        " has no effect: with one node, this one is a job of its own (is --nnodes missing?)");
  }
  if (options_.max_nodes > 1) flags_.derive(flag::kNnodes, "1:1", source);
  if (options_.node_rank.value_or(0) > 0) flags_.derive(flag::kNodeRank, "0", source);
  settle_run_id(source);
  options_.standalone = true;
  options_.backend = RendezvousBackend::kC10d;
  options_.rdzv_endpoint = "localhost:0";
  options_.max_nodes = 1;
  options_.node_rank.reset();
  options_.master_addr.clear();
  options_.master_port.reset();
  flags_.derive(flag::kStandalone, "true", source);
  flags_.derive(flag::kRdzvBackend, "c10d", source);
  flags_.derive(flag::kRdzvEndpoint, options_.rdzv_endpoint, source);
  flags_.derive(flag::kMasterAddr, "", source);
  flags_.derive(flag::kMasterPort, "", source);
}

void Settling::settle_run_id(const std::string& source) {
  options_.run_id = one_line(options_.run_id);  // as the other nodes will read it
  const bool empty = options_.run_id.empty();
  const bool unnamed = options_.run_id == flags_.fallback(flag::kRdzvId);
  // Under the same id all jobs of an etcd would be one.
  if (unnamed && source.empty() && options_.backend == RendezvousBackend::kEtcd) {
    const std::string problem = flags_.label(flag::kRdzvBackend) + " " +
                                flags_.text(flag::kRdzvBackend) +
                                " without --rdzv-id: every such job has the id 'none'";
    flags_.dialect() == Dialect::kMuster ? flags_.fail(problem) : flags_.warn(problem);
  }
  // torchrun replaces even an id that was given.
  const bool replaced = !source.empty() && (unnamed || flags_.dialect() != Dialect::kMuster);
  if (empty) flags_.warn(flags_.label(flag::kRdzvId) + " is empty, using a random id");
  if (!empty && !replaced) return;
  options_.run_id = random_run_id(flags_.random());
  flags_.derive(flag::kRdzvId, options_.run_id, source.empty() ? "random" : "random, " + source);
}

void Settling::check_static() {
  if (!endpoints_.empty() && !endpoints_.front().port) {
    return flags_.fail(flag::kRdzvEndpoint, "the static backend needs HOST:PORT");
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
    return flags_.fail(flag::kNodeRank, fmt::format("--nnodes is {}, so the largest is {}",
                                                    options_.max_nodes, options_.max_nodes - 1));
  }
  if (options_.min_nodes != options_.max_nodes) {
    flags_.warn(fmt::format("{} {}: the static backend always waits for all {} nodes",
                            flags_.label(flag::kNnodes), flags_.text(flag::kNnodes),
                            options_.max_nodes));
  }
}

// Port 0 is chosen by whoever listens; other nodes cannot know it.
void Settling::check_endpoints() {
  if (options_.min_nodes == 1) return;
  constexpr std::string_view kUnknown = "port 0 is any free port, which other nodes cannot know";
  if (options_.master_port == 0) return flags_.fail(flag::kMasterPort, kUnknown);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port == 0) return flags_.fail(flag::kRdzvEndpoint, kUnknown);
  }
}

// A launcher reaches its ranks through the agents.
void settle_rsh(FlagReader& flags, Options& options) {
  const bool alone = options.standalone || !may_have_others(options);
  const bool starts_launcher = options.framework.starts_launcher();
  if (options.nodes.rsh && alone && !starts_launcher)
    flags.warn(flags.label(flag::kRsh) + " has no effect: there is one node");
  if (!starts_launcher || options.nodes.rsh) return;
  options.nodes.rsh = true;
  flags.derive(flag::kRsh, "true", flags.label(flag::kFramework) + " mpi");
}

void settle_rendezvous(FlagReader& flags, Options& options) {
  Settling(flags, options).run();
  settle_rsh(flags, options);
}

}  // namespace

constexpr FlagGroup kRendezvousFlags{"Rendezvous", kRows, check_rendezvous, settle_rendezvous};

}  // namespace muster::launcher
