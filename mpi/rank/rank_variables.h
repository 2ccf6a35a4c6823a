// What an agent and the launcher of an MPI job say to `muster rank`, which stands above each rank.
#pragma once

#include <string_view>

namespace muster::mpi {

/// Tells `muster rank` whom to report to: "ADDRESS:PORT AGENT ROUND RUN_ID", AGENT being that
/// agent's incarnation; below one that reports, kReportedAbove.
inline constexpr std::string_view kRankReportVariable = "MUSTER_RANK_REPORT";
inline constexpr std::string_view kReportedAbove = "above";
/// The name of the node, for ranks that a daemon started; those of the launcher's node have none.
inline constexpr std::string_view kRankNodeVariable = "MUSTER_RANK_NODE";
/// The name of the process of `muster rank` as the kernel has it, while its rank runs and after
/// that: by these an agent finds the ranks that a launcher's daemons have started.
inline constexpr const char* kRankProcessName = "muster-rank";
inline constexpr const char* kEndedRankProcessName = "muster-rank-end";
/// What happens to the output of ranks (rank_streams.h). The folder of the attempt on the node of
/// the rank, for its files; that of the launcher's node has a name of its own, because Hydra hands
/// on what the launcher has to all nodes.
inline constexpr std::string_view kRankStreamsVariable = "MUSTER_RANK_STREAMS";
inline constexpr std::string_view kRankLogsVariable = "MUSTER_RANK_LOGS";
inline constexpr std::string_view kLauncherLogsVariable = "MUSTER_LAUNCHER_LOGS";
inline constexpr std::string_view kLauncherNodeVariable = "MUSTER_LAUNCHER_NODE";
/// What the network libraries of ranks on the launcher's node need (rank_network.h). What a daemon
/// starts has its own node's in its environment already; the launcher's must not have it, because
/// Hydra would hand it on to all nodes.
inline constexpr std::string_view kLauncherNetworkVariable = "MUSTER_LAUNCHER_NETWORK";
/// Which ranks have a stdin: kNoInput = none; kInputAsGiven = those that the launcher's own words
/// say; not set = rank 0 alone.
inline constexpr std::string_view kRankInputVariable = "MUSTER_RANK_STDIN";
inline constexpr std::string_view kNoInput = "none";
inline constexpr std::string_view kInputAsGiven = "given";

/// "--launcher=", followed by the process id of the launcher, between `rank` and `--`.
inline constexpr std::string_view kRankLauncherFlag = "--launcher=";

}  // namespace muster::mpi
