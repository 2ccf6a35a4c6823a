// Option values: the grammars of flags' values, pure. torchrun's grammars unless said otherwise. An
// Error is kUsage and says what is wrong with the value, without the value or the flag's name:
// flag_reader.cc puts those in front. Where the nodes meet: rendezvous_values.h. Words out of a
// closed list: choice.h, in the source of the row.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_network.h"
#include "base/result.h"
#include "launcher/options/choice.h"
#include "launcher/options/options.h"
#include "rendezvous/messages/node_identity.h"

namespace muster::launcher {

using rendezvous::kMaxNodes;
using rendezvous::kMaxWorkersPerNode;
inline constexpr int kMaxPort = 65'535;
/// Longest --grace-period: others wait so long for a node that saves, at most.
inline constexpr Duration kMaxGracePeriod = std::chrono::minutes(5);
inline constexpr size_t kMaxNetworks = 64;  ///< more than a cluster has address ranges

/// "N" or "MIN:MAX", 0 < MIN <= MAX <= kMaxNodes.
struct NodeRange {
  int min = 1;
  int max = 1;
};
Result<NodeRange> parse_node_range(std::string_view text);

/// 0..kMaxNodes-1.
Result<int> parse_node_rank(std::string_view text);
/// 1..kMaxNodes.
Result<int> parse_node_number(std::string_view text);
/// Such numbers between commas, sorted; "" is none.
Result<std::vector<int>> parse_node_numbers(std::string_view text);

inline constexpr Choice<WorkerCountKind> kWorkerCountKinds[] = {{"auto", WorkerCountKind::kAuto},
                                                                {"cpu", WorkerCountKind::kCpu},
                                                                {"gpu", WorkerCountKind::kGpu},
                                                                {"xpu", WorkerCountKind::kXpu}};
/// 1..kMaxWorkersPerNode, or one of these kinds.
Result<WorkerCount> parse_worker_count(std::string_view text);

/// "0" none, "1" stdout, "2" stderr, "3" both, or "RANK:MASK,..." with any local rank (torchrun:
/// one digit); the last of equal ranks wins.
Result<StreamsByRank> parse_streams(std::string_view text);

/// Local ranks between commas, each 0..kMaxWorkersPerNode-1; "" is none.
Result<std::vector<int>> parse_local_ranks(std::string_view text);

/// Words between commas; ",," is a comma within a word; empty words are dropped.
Result<std::vector<std::string>> parse_filters(std::string_view text);

/// Signal names or numbers between commas. Unknown ones, and those that nobody can handle (SIGKILL,
/// SIGSTOP), are listed as written; torchrun, too, only warns.
struct SignalList {
  std::vector<int> signals;
  std::vector<std::string> unknown;
};
SignalList parse_signals(std::string_view text);

/// A signal's name or number that a process can handle.
Result<int> parse_handled_signal(std::string_view text);

Result<int> parse_port(std::string_view text);
/// An integer >= 0.
Result<int> parse_count(std::string_view text);
/// Shown in front of lines, so without control characters. kUsage.
Result<std::string> parse_node_name(std::string_view text);
/// A time of base/text.h, at most kMaxGracePeriod.
Result<Duration> parse_grace_period(std::string_view text);
/// Whole seconds, at most a day, as torchrun has no limit; what is more than kMaxGracePeriod is for
/// the caller to shorten.
Result<Duration> parse_shutdown_timeout(std::string_view text);
/// A time of base/text.h.
Result<Duration> parse_pause(std::string_view text);
/// At least a second: no restart would be recent enough to count.
Result<Duration> parse_restart_window(std::string_view text);
/// The same, at least rendezvous::kMinLease.
Result<Duration> parse_lease(std::string_view text);
/// From rendezvous::kMinCooldown to kMaxCooldown.
Result<Duration> parse_cooldown(std::string_view text);
/// IpNetwork::parse between commas, at most kMaxNetworks; "" = none.
Result<std::vector<IpNetwork>> parse_networks(std::string_view text);
/// A level of base/log.h, in its plainest spelling: "debug", "info", "warning", "error", "off".
Result<std::string> parse_log_level(std::string_view text);

}  // namespace muster::launcher
