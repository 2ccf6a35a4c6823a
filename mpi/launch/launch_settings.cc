#include "mpi/launch/launch_settings.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace muster::mpi {

namespace {

// Where the value comes from.
enum class Value {
  kFixed,
  kRemoved,
  kRsh,
  kRshWords,
  kHostfile,
  kInterface,
  kNetwork,
  kConcurrent,
  kSlots,
  kStartDeadline,
  kHosts,
};
// When the row counts. TcpOnly: with RDMA the interface would keep UCX from its devices.
enum class When { kAlways, kRoot, kTcpOnly, kBeyondLoopback, kFlat, kDottedNames };
// Who reads the variable.
enum class Readers { kMpiAlone, kOtherLibrariesToo };
using enum Value;
using enum When;
using enum Readers;

struct Row {
  std::string_view name;
  Value kind;
  std::string_view fixed;  // of kFixed alone
  std::string_view reason;
  std::string_view source;
  When when = kAlways;
  std::string_view rival = {};
  Readers readers = kMpiAlone;
};

constexpr std::string_view kBoth = "tried: Open MPI 4.1.4, 5.0.7, 5.0.11";
constexpr std::string_view kOld = "tried: Open MPI 4.1.4";
constexpr std::string_view kNew = "tried: Open MPI 5.0.7, 5.0.11";
constexpr std::string_view kNewest = "tried: Open MPI 5.0.11; 5.0.7 has no such parameter";
constexpr std::string_view kHydra = "tried: MPICH 4.0.2, 4.2.1, 5.0.2";
constexpr std::string_view kHydra5 = "tried: MPICH 5.0.2";
constexpr std::string_view kIntel = "tried: Intel MPI 2021.18";

constexpr std::string_view kAgentReason = "daemons are started through the agents, without ssh";
constexpr std::string_view kHostfileReason = "the nodes of this round, in the order of their ranks";
constexpr std::string_view kNamesReason =
    "names cut at the first dot would make one host of several";
constexpr std::string_view kConcurrentReason =
    "a remote shell lives as long as its daemon: with fewer than hosts the start hangs";
constexpr std::string_view kBindingReason =
    "rank k of each container would be bound to core k of the machine, all to the same cores";
constexpr std::string_view kInterfaceReason =
    "an interface with the same address in several containers (docker0) hangs or aborts MPI_Init";
constexpr std::string_view kFlatReason =
    "only this node has the remote shell, so no daemon may start further ones";
constexpr std::string_view kAttachedReason =
    "a daemon that leaves ssh and dies before it has called back hangs the start without a word";
constexpr std::string_view kKeepAliveReason =
    "a node that is cut off is noticed after 25 s instead of 8 min";
constexpr std::string_view kNoLookupReason =
    "nodes are known by the names of the hostfile, which DNS need not know: mpirun waits for a "
    "silent server, 5 s each";
constexpr std::string_view kRootReason = "containers run as root; it takes both variables";
constexpr std::string_view kRshReason =
    "the remote shell without ssh's option -x and without its throttle of 8 logins per 15 s";
constexpr std::string_view kCallBackReason =
    "proxies call back to an address instead of the launcher's name, which nobody resolves";
constexpr std::string_view kHostNameReason =
    "the launcher's environment overrides that of every node";
constexpr std::string_view kPerHostReason =
    "the number of ranks in a host file given in this way is not looked at; that of cores is";
constexpr std::string_view kDeadlineReason =
    "a daemon that never comes would hang the start, and SIGTERM is ignored then";
constexpr std::string_view kCopyingReason =
    "ranks may not read each other's memory here (process_vm_readv): each large message fails";
constexpr std::string_view kSlurmReason =
    "inherited from Slurm it makes ranks look for Slurm's daemons";

constexpr Row kOpenMpiRows[] = {
    {"OMPI_MCA_plm_rsh_agent", kRshWords, "", kAgentReason, kOld},
    {"PRTE_MCA_plm_ssh_agent", kRshWords, "", kAgentReason, kNew},
    {"OMPI_MCA_orte_default_hostfile", kHostfile, "", kHostfileReason, kOld},
    {"PRTE_MCA_prte_default_hostfile", kHostfile, "", kHostfileReason, kNew},
    {"OMPI_MCA_orte_keep_fqdn_hostnames", kFixed, "1", kNamesReason, kOld, kDottedNames},
    {"OMPI_MCA_if_base_do_not_resolve", kFixed, "1", kNoLookupReason, kOld},
    {"PRTE_MCA_prte_keep_fqdn_hostnames", kFixed, "1", kNamesReason, kNewest},
    {"OMPI_MCA_plm_rsh_num_concurrent", kConcurrent, "", kConcurrentReason, kOld},
    {"PRTE_MCA_plm_ssh_num_concurrent", kConcurrent, "", kConcurrentReason, kNew},
    {"OMPI_MCA_plm_rsh_no_tree_spawn", kFixed, "1", kFlatReason, kOld, kFlat},
    {"PRTE_MCA_plm_ssh_no_tree_spawn", kFixed, "1", kFlatReason, kNew, kFlat},
    {"OMPI_MCA_orte_leave_session_attached", kFixed, "1", kAttachedReason, kOld, kFlat},
    {"OMPI_MCA_hwloc_base_binding_policy", kFixed, "none", kBindingReason, kOld},
    {"PRTE_MCA_hwloc_default_binding_policy", kFixed, "none", kBindingReason, kNew},
    {"OMPI_MCA_oob_tcp_if_include", kNetwork, "", kInterfaceReason, kOld, kAlways,
     "OMPI_MCA_oob_tcp_if_exclude"},
    // It refuses to use loopback and ends when nothing else is allowed.
    {"PRTE_MCA_prte_if_include", kNetwork, "", kInterfaceReason, kNew, kBeyondLoopback,
     "PRTE_MCA_prte_if_exclude"},
    {"OMPI_MCA_btl_tcp_if_include", kNetwork, "", kInterfaceReason, kBoth, kAlways,
     "OMPI_MCA_btl_tcp_if_exclude"},
    {"OMPI_MCA_oob_tcp_keepalive_time", kFixed, "10", kKeepAliveReason, kOld},
    {"OMPI_MCA_oob_tcp_keepalive_intvl", kFixed, "5", kKeepAliveReason, kOld},
    {"OMPI_MCA_oob_tcp_keepalive_probes", kFixed, "3", kKeepAliveReason, kOld},
    {"PRTE_MCA_oob_tcp_keepalive_time", kFixed, "10", kKeepAliveReason, kNew},
    {"PRTE_MCA_oob_tcp_keepalive_intvl", kFixed, "5", kKeepAliveReason, kNew},
    {"PRTE_MCA_oob_tcp_keepalive_probes", kFixed, "3", kKeepAliveReason, kNew},
    {"OMPI_ALLOW_RUN_AS_ROOT", kFixed, "1", kRootReason, kBoth, kRoot},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", kFixed, "1", kRootReason, kBoth, kRoot},
};

constexpr Row kMpichRows[] = {
    {"HYDRA_LAUNCHER", kFixed, "rsh", kRshReason, kHydra},
    {"HYDRA_LAUNCHER_EXEC", kRsh, "", kAgentReason, kHydra},
    {"HYDRA_HOST_FILE", kHostfile, "", kHostfileReason, kHydra},
    {"HYDRA_IFACE", kInterface, "", kCallBackReason, kHydra},
    {"UCX_NET_DEVICES", kInterface, "", kInterfaceReason, kHydra5, kTcpOnly, "",
     kOtherLibrariesToo},
    {"HOSTNAME", kRemoved, "", kHostNameReason, kHydra},
};

constexpr Row kIntelRows[] = {
    {"I_MPI_HYDRA_BOOTSTRAP", kFixed, "rsh", kAgentReason, kIntel},
    {"I_MPI_HYDRA_BOOTSTRAP_EXEC", kRsh, "", kAgentReason, kIntel},
    {"I_MPI_HYDRA_HOST_FILE", kHostfile, "", kHostfileReason, kIntel},
    {"I_MPI_PERHOST", kSlots, "", kPerHostReason, kIntel},
    {"I_MPI_HYDRA_BRANCH_COUNT", kHosts, "", kFlatReason, kIntel, kFlat},
    {"I_MPI_HYDRA_IFACE", kInterface, "", kCallBackReason, kIntel},
    {"FI_TCP_IFACE", kInterface, "", kInterfaceReason, kIntel, kAlways, "", kOtherLibrariesToo},
    {"I_MPI_JOB_STARTUP_TIMEOUT", kStartDeadline, "", kDeadlineReason, kIntel},
    {"I_MPI_PIN", kFixed, "off", kBindingReason, kIntel},
    {"I_MPI_PMI_LIBRARY", kRemoved, "", kSlurmReason, "mpi-operator#389"},
};

// Open MPI 5.0.11, MPICH 4.0.2 and Intel MPI 2021.18 find it out themselves, and so does UCX.
constexpr Row kCopyingRows[] = {
    {"OMPI_MCA_btl_vader_single_copy_mechanism", kFixed, "none", kCopyingReason, kOld},
    {"MPIR_CVAR_CH4_CMA_ENABLE", kFixed, "0", kCopyingReason, kHydra5},
};

constexpr int kOpenMpiConcurrent = 128;  // its own default
constexpr int kFirstWithoutStdinEnd = 5;

bool counts(const Row& row, const LaunchFacts& facts) {
  switch (row.when) {
    case When::kAlways:
      return true;
    case When::kRoot:
      return facts.is_root;
    case When::kTcpOnly:
      return !facts.has_rdma;
    case When::kFlat:
      return facts.flat;
    // Else its own host name, with a domain perhaps, would be none of the hostfile's.
    case When::kDottedNames:
      return facts.has_dotted_names;
    case When::kBeyondLoopback:
      return !facts.network.starts_with("127.");
  }
  return false;
}

// "" = not known: the row is left out.
std::string value_of(const Row& row, const LaunchFacts& facts) {
  switch (row.kind) {
    case Value::kFixed:
      return std::string(row.fixed);
    case Value::kRemoved:
      return "";
    case Value::kRsh:
      return facts.rsh_program;
    case Value::kRshWords:
      return facts.rsh_words.empty() ? facts.rsh_program : facts.rsh_words;
    case Value::kHostfile:
      return facts.hostfile;
    case Value::kInterface:
      return facts.interface;
    case Value::kNetwork:
      return facts.network;
    case Value::kConcurrent:
      return std::to_string(std::max(kOpenMpiConcurrent, facts.hosts));
    case Value::kHosts:
      return std::to_string(facts.hosts);
    case Value::kSlots:
      return facts.slots == 0 ? "" : std::to_string(facts.slots);
    case Value::kStartDeadline:
      return std::to_string(
          std::chrono::duration_cast<std::chrono::seconds>(facts.start_deadline).count());
  }
  return "";
}

std::vector<Row> rows_of(Implementation implementation) {
  switch (implementation) {
    case Implementation::kOpenMpi:
      return {std::begin(kOpenMpiRows), std::end(kOpenMpiRows)};
    case Implementation::kMpich:
      return {std::begin(kMpichRows), std::end(kMpichRows)};
    case Implementation::kIntelMpi:
      return {std::begin(kIntelRows), std::end(kIntelRows)};
  }
  return {};
}

std::vector<Row> rows_named(std::initializer_list<std::string_view> names) {
  std::vector<Row> named;
  for (const std::string_view name : names) {
    for (const Implementation implementation : kAllImplementations) {
      for (const Row& row : rows_of(implementation)) {
        if (row.name == name) named.push_back(row);
      }
    }
  }
  return named;
}

std::vector<PlannedVariable> settings_from(const std::vector<Row>& rows, const LaunchFacts& facts) {
  std::vector<PlannedVariable> settings;
  for (const Row& row : rows) {
    if (!counts(row, facts)) continue;
    PlannedVariable setting{std::string(row.name), value_of(row, facts), std::string(row.reason),
                            std::string(row.source), std::string(row.rival)};
    if (row.kind == Value::kRemoved) {
      setting.value.reset();
    } else if (setting.value->empty()) {
      continue;
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<std::string_view> names_of(Implementation implementation, Value kind) {
  std::vector<std::string_view> names;
  for (const Row& row : rows_of(implementation)) {
    if (row.kind == kind) names.push_back(row.name);
  }
  return names;
}

Status check_path(std::string_view what, std::string_view path) {
  const bool absolute = path.starts_with('/');
  if (absolute && path.find_first_of(" :\t\n") == std::string_view::npos) return {};
  return Error{Code::kConfig, 0,
               std::string(what) + " '" + std::string(path) +
                   (absolute ? "': a space or colon in it, where MPI launchers split"
                             : "': not an absolute path")};
}

}  // namespace

Result<std::vector<PlannedVariable>> launch_settings(const LaunchFacts& facts) {
  MUSTER_RETURN_IF_ERROR(check_path("remote shell", facts.rsh_program));
  MUSTER_RETURN_IF_ERROR(check_path("hostfile", facts.hostfile));
  // Tried: MPICH 4.0.2, 5.0.2, Intel MPI 2021.18. They say that there is no such interface.
  const Implementation implementation = facts.launcher.implementation;
  if (implementation != Implementation::kOpenMpi && !facts.has_ipv4) {
    return Error{Code::kConfig, 0,
                 "mpiexec of " + std::string(to_string(implementation)) +
                     " does not speak IPv6, and " + facts.interface +
                     ", by which the nodes reach each other, has no IPv4 address"};
  }
  return settings_from(rows_of(implementation), facts);
}

Result<std::vector<PlannedVariable>> caller_settings(const LaunchFacts& facts) {
  MUSTER_RETURN_IF_ERROR(check_path("remote shell", facts.rsh_program));
  LaunchFacts known = facts;
  known.hostfile.clear();
  known.slots = 0;
  std::vector<PlannedVariable> settings;
  for (const Implementation implementation : kAllImplementations) {
    if (implementation != Implementation::kOpenMpi && !facts.has_ipv4) continue;
    auto rows = rows_of(implementation);
    std::erase_if(rows, [](const Row& row) {
      return row.kind == kRemoved || row.readers == kOtherLibrariesToo;
    });
    for (PlannedVariable& setting : settings_from(rows, known))
      settings.push_back(std::move(setting));
  }
  return settings;
}

Result<std::vector<PlannedVariable>> command_settings(const LaunchFacts& facts,
                                                      const std::string& host_list) {
  MUSTER_RETURN_IF_ERROR(check_path("remote shell", facts.rsh_program));
  MUSTER_RETURN_IF_ERROR(check_path("hostfile", facts.hostfile));
  MUSTER_RETURN_IF_ERROR(check_path("hostfile", host_list));
  std::vector<PlannedVariable> settings;
  for (const Implementation implementation : kAllImplementations) {
    LaunchFacts known = facts;
    if (implementation != Implementation::kOpenMpi) {
      if (!facts.has_ipv4) continue;
      known.hostfile = host_list;
    }
    for (PlannedVariable& setting : settings_from(rows_of(implementation), known)) {
      if (setting.value) settings.push_back(std::move(setting));
    }
  }
  return settings;
}

std::vector<std::string_view> hostfile_variables() {
  std::vector<std::string_view> names;
  for (const Implementation implementation : kAllImplementations) {
    for (const std::string_view name : names_of(implementation, Value::kHostfile))
      names.push_back(name);
  }
  return names;
}

std::vector<std::string_view> network_variables() {
  return names_of(Implementation::kOpenMpi, Value::kNetwork);
}

std::vector<std::string_view> unwanted_variables(Implementation implementation) {
  return names_of(implementation, Value::kRemoved);
}

std::vector<PlannedVariable> copying_settings() {
  return settings_from({std::begin(kCopyingRows), std::end(kCopyingRows)}, {});
}

std::vector<PlannedVariable> rank_settings(const std::string& interface, bool has_rdma) {
  LaunchFacts facts;
  facts.interface = interface;
  facts.has_rdma = has_rdma;
  return settings_from(rows_named({"UCX_NET_DEVICES", "FI_TCP_IFACE"}), facts);
}

std::vector<PlannedVariable> openmpi_rank_settings(const std::string& network) {
  LaunchFacts facts;
  facts.network = network;
  return settings_from(rows_named({"OMPI_MCA_btl_tcp_if_include"}), facts);
}

std::vector<std::string> launch_arguments(const LaunchFacts& facts) {
  const Launcher& launcher = facts.launcher;
  const bool loses_end_of_file = launcher.implementation == Implementation::kOpenMpi &&
                                 launcher.major >= kFirstWithoutStdinEnd;
  // Open MPI 5.0.11: rank 0 never sees the end of stdin, not even of /dev/null, and waits for ever.
  if (loses_end_of_file && !facts.wants_stdin) return {"--stdin", "none"};
  // Intel MPI 2021.18: the only way in which each host's number of ranks counts.
  if (launcher.implementation == Implementation::kIntelMpi) return {"-machinefile", facts.hostfile};
  return {};
}

}  // namespace muster::mpi
