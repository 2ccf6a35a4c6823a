// Flag: a flag of `muster run` and torchrun, by its long name, and the flags that code speaks of. A
// flag of which no code speaks needs no line here: its row (flag_table.h) is all there is of it.
#pragma once

#include <compare>
#include <string_view>

namespace muster::launcher {

/// `name` is that of a row, without the leading dashes. It is borrowed: from the row, or from
/// below.
struct Flag {
  std::string_view name;
  constexpr explicit Flag(std::string_view long_name) : name(long_name) {}
  friend bool operator==(const Flag&, const Flag&) = default;
  friend bool operator<(const Flag& a, const Flag& b) { return a.name < b.name; }
};

/// A rule of tests/tidy checks that each of these is the name of a row.
namespace flag {

inline constexpr Flag kModule{"module"};
inline constexpr Flag kNoPython{"no-python"};
inline constexpr Flag kRunPath{"run-path"};
inline constexpr Flag kUseEnv{"use-env"};

inline constexpr Flag kFramework{"framework"};
inline constexpr Flag kXgboostHook{"xgboost-hook"};
inline constexpr Flag kJaxHook{"jax-hook"};
inline constexpr Flag kLightgbmHook{"lightgbm-hook"};
inline constexpr Flag kRoles{"roles"};
inline constexpr Flag kRuns{"runs"};
inline constexpr Flag kParallelism{"parallelism"};
inline constexpr Flag kRestartScope{"restart-scope"};
inline constexpr Flag kMpi{"mpi"};
inline constexpr Flag kMpiLaunch{"mpi-launch"};
inline constexpr Flag kMpiRole{"mpi-role"};
inline constexpr Flag kContract{"contract"};
inline constexpr Flag kFile{"file"};
inline constexpr Flag kTerminationLog{"termination-log"};
inline constexpr Flag kLogLevel{"log-level"};
inline constexpr Flag kLogFormat{"log-format"};
inline constexpr Flag kMpiTransport{"mpi-transport"};
inline constexpr Flag kMpiSshKeys{"mpi-ssh-keys"};
inline constexpr Flag kMpiSshPort{"mpi-ssh-port"};
inline constexpr Flag kMpiStartTimeout{"mpi-start-timeout"};

inline constexpr Flag kNnodes{"nnodes"};
inline constexpr Flag kNprocPerNode{"nproc-per-node"};
inline constexpr Flag kNnodesStep{"nnodes-step"};
inline constexpr Flag kNnodesAllowed{"nnodes-allowed"};
inline constexpr Flag kSpares{"spares"};
inline constexpr Flag kNodeName{"node-name"};
inline constexpr Flag kRsh{"rsh"};
inline constexpr Flag kRdzvId{"rdzv-id"};

inline constexpr Flag kStandalone{"standalone"};
inline constexpr Flag kRdzvBackend{"rdzv-backend"};
inline constexpr Flag kRdzvEndpoint{"rdzv-endpoint"};
inline constexpr Flag kHosts{"hosts"};
inline constexpr Flag kRdzvConf{"rdzv-conf"};
inline constexpr Flag kNodeRank{"node-rank"};
inline constexpr Flag kMasterAddr{"master-addr"};
inline constexpr Flag kMasterPort{"master-port"};
inline constexpr Flag kLocalAddr{"local-addr"};

inline constexpr Flag kMaxRestarts{"max-restarts"};
inline constexpr Flag kRestartWindow{"restart-window"};
inline constexpr Flag kGracePeriod{"grace-period"};
inline constexpr Flag kShutdownTimeout{"shutdown-timeout"};
inline constexpr Flag kSignalsToHandle{"signals-to-handle"};

inline constexpr Flag kLogDir{"log-dir"};
inline constexpr Flag kRunDir{"run-dir"};
inline constexpr Flag kStatusPort{"status-port"};
inline constexpr Flag kReport{"report"};
inline constexpr Flag kRedirects{"redirects"};
inline constexpr Flag kTee{"tee"};
inline constexpr Flag kLogLinePrefixTemplate{"log-line-prefix-template"};
inline constexpr Flag kLocalRanksFilter{"local-ranks-filter"};
inline constexpr Flag kDuplicateStdoutFilters{"duplicate-stdout-filters"};
inline constexpr Flag kDuplicateStderrFilters{"duplicate-stderr-filters"};

inline constexpr Flag kNumaBinding{"numa-binding"};
inline constexpr Flag kVirtualLocalRank{"virtual-local-rank"};

inline constexpr Flag kExplain{"explain"};
inline constexpr Flag kHelp{"help"};
inline constexpr Flag kVersion{"version"};
inline constexpr Flag kPrintCompletion{"print-completion"};

}  // namespace flag

}  // namespace muster::launcher
