#include "launcher/options/option_values.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "rendezvous/messages/job_options.h"

namespace muster::launcher {

namespace {

/// An integer in the range, white space around it allowed as in Python. `what` names the range in
/// the error: "not a port (0 to 65535)".
Result<int> parse_in_range(std::string_view text, int64_t low, int64_t high,
                           std::string_view what) {
  const auto number = parse_integer(trim(text));
  if (!number || *number < low || *number > high) return wrong("not " + std::string(what));
  return static_cast<int>(*number);
}

Result<Streams> parse_mask(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') {
    return wrong("a mask is 0, 1, 2 or 3, or RANK:MASK,...");
  }
  const int bits = text[0] - '0';
  return Streams{(bits & 1) != 0, (bits & 2) != 0};
}

Result<int> parse_local_rank(std::string_view text) {
  const std::string range = "a local rank (0 to " + std::to_string(kMaxWorkersPerNode - 1) + ")";
  auto rank = parse_in_range(text, 0, kMaxWorkersPerNode - 1, range);
  if (!rank) return wrong("'" + std::string(text) + "' is " + rank.error().text);
  return rank;
}

/// The synchronous ones stay with the kernel's default (base/signals.h).
bool can_be_handled(int signal) {
  constexpr int kNever[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
                            SIGILL,  SIGTRAP, SIGSYS,  SIGABRT};
  return std::ranges::find(kNever, signal) == std::end(kNever);
}

}  // namespace

Result<NodeRange> parse_node_range(std::string_view text) {
  // substr(0, npos) is the whole text.
  const size_t colon = text.find(':');
  const auto min = parse_integer(trim(text.substr(0, colon)));
  const auto max =
      colon == std::string_view::npos ? min : parse_integer(trim(text.substr(colon + 1)));
  if (!min || !max) return wrong("neither N nor MIN:MAX");
  if (*min < 1) return wrong("the smallest number of nodes is 1");
  if (*min > *max) return wrong("MIN is larger than MAX");
  if (*max > kMaxNodes) return wrong("more than " + std::to_string(kMaxNodes) + " nodes");
  return NodeRange{static_cast<int>(*min), static_cast<int>(*max)};
}

Result<int> parse_node_rank(std::string_view text) {
  return parse_in_range(text, 0, kMaxNodes - 1,
                        "a whole number from 0 to " + std::to_string(kMaxNodes - 1));
}

Result<int> parse_node_number(std::string_view text) {
  return parse_in_range(text, 1, kMaxNodes,
                        "a whole number from 1 to " + std::to_string(kMaxNodes));
}

Result<std::vector<int>> parse_node_numbers(std::string_view text) {
  std::vector<int> numbers;
  if (text.empty()) return numbers;
  for (const std::string_view part : split(text, ',')) {
    auto number = parse_node_number(part);
    if (!number) return wrong("'" + std::string(part) + "' is " + number.error().text);
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<WorkerCount> parse_worker_count(std::string_view text) {
  for (const auto& kind : kWorkerCountKinds) {
    if (kind.name == text) return WorkerCount{kind.value, 1};
  }
  const auto number = parse_integer(trim(text));
  if (!number) return wrong("neither a number nor auto, cpu, gpu or xpu");
  if (*number < 1) return wrong("the smallest number of workers is 1");
  if (*number > kMaxWorkersPerNode) {
    return wrong("more than " + std::to_string(kMaxWorkersPerNode) + " workers");
  }
  return WorkerCount{WorkerCountKind::kNumber, static_cast<int>(*number)};
}

Result<StreamsByRank> parse_streams(std::string_view text) {
  StreamsByRank streams;
  if (text.find(':') == std::string_view::npos) {
    auto mask = parse_mask(text);
    if (!mask) return std::move(mask).error();
    streams.otherwise = *mask;
    return streams;
  }
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = std::min(part.find(':'), part.size());
    auto rank = parse_local_rank(part.substr(0, colon));
    if (!rank) return std::move(rank).error();
    auto mask = parse_mask(part.substr(std::min(colon + 1, part.size())));
    if (!mask) return std::move(mask).error();
    streams.by_local_rank[*rank] = *mask;
  }
  return streams;
}

Result<std::vector<int>> parse_local_ranks(std::string_view text) {
  std::vector<int> ranks;
  if (text.empty()) return ranks;
  for (const std::string_view part : split(text, ',')) {
    auto rank = parse_local_rank(part);
    if (!rank) return std::move(rank).error();
    ranks.push_back(*rank);
  }
  return ranks;
}

Result<std::vector<std::string>> parse_filters(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&words, &word] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool doubled = text.substr(i).starts_with(",,");
    // Left to right: in ",,," the first two are a comma of the word.
    if (text[i] == ',' && !doubled) {
      finish();
    } else {
      word += text[i];
      if (doubled) ++i;
    }
  }
  finish();
  return words;
}

SignalList parse_signals(std::string_view text) {
  SignalList list;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view name = trim(part);
    if (name.empty()) continue;
    const auto signal = parse_signal(name);
    if (!signal || !can_be_handled(*signal)) {
      list.unknown.emplace_back(name);
    } else if (std::ranges::find(list.signals, *signal) == list.signals.end()) {
      list.signals.push_back(*signal);
    }
  }
  return list;
}

Result<int> parse_handled_signal(std::string_view text) {
  const auto signal = parse_signal(trim(text));
  if (!signal || !can_be_handled(*signal)) return wrong("not a signal that a process can handle");
  return *signal;
}

Result<int> parse_port(std::string_view text) {
  return parse_in_range(text, 0, kMaxPort, "a port (0 to 65535)");
}

Result<int> parse_count(std::string_view text) {
  return parse_in_range(text, 0, std::numeric_limits<int>::max(),
                        "a whole number from 0 to 2147483647");
}

Result<std::string> parse_node_name(std::string_view text) {
  const bool plain = std::ranges::none_of(
      text, [](unsigned char letter) { return letter < ' ' || letter == '\x7f'; });
  if (!plain) return wrong("a control character is in it");
  return std::string(text);
}

Result<Duration> parse_grace_period(std::string_view text) {
  const auto duration = parse_duration(trim(text));
  if (!duration || *duration > kMaxGracePeriod) {
    return wrong("not a time from 0 to 5m (30, 1.5s, 500ms, 5m)");
  }
  return *duration;
}

Result<Duration> parse_shutdown_timeout(std::string_view text) {
  constexpr int64_t kDay = 86'400;
  auto seconds = parse_in_range(text, 0, kDay, "a whole number of seconds from 0 to 86400");
  if (!seconds) return std::move(seconds).error();
  return Duration(std::chrono::seconds(*seconds));
}

Result<Duration> parse_pause(std::string_view text) {
  const auto duration = parse_duration(trim(text));
  if (!duration) return wrong("not a time (5, 1.5s, 500ms, 5m)");
  return *duration;
}

Result<Duration> parse_restart_window(std::string_view text) {
  constexpr Duration kMinRestartWindow = std::chrono::seconds(1);
  auto window = parse_pause(text);
  if (window && *window < kMinRestartWindow)
    return wrong("must be at least " + format_duration(kMinRestartWindow) +
                 "; without it all restarts count");
  return window;
}

Result<Duration> parse_lease(std::string_view text) {
  auto lease = parse_pause(text);
  if (lease && *lease < rendezvous::kMinLease)
    return wrong("must be at least " + format_duration(rendezvous::kMinLease));
  return lease;
}

Result<Duration> parse_cooldown(std::string_view text) {
  auto time = parse_pause(text);
  if (time && (*time < rendezvous::kMinCooldown || *time > rendezvous::kMaxCooldown))
    return wrong("must be from " + format_duration(rendezvous::kMinCooldown) + " to " +
                 format_duration(rendezvous::kMaxCooldown));
  return time;
}

Result<std::vector<IpNetwork>> parse_networks(std::string_view text) {
  std::vector<IpNetwork> networks;
  if (trim(text).empty()) return networks;
  for (const std::string_view word : split(text, ',')) {
    auto network = IpNetwork::parse(trim(word));
    if (!network) return std::move(network).error();
    networks.push_back(*network);
  }
  if (networks.size() > kMaxNetworks)
    return wrong(std::to_string(networks.size()) + " ranges, at most " +
                 std::to_string(kMaxNetworks));
  return networks;
}

Result<std::string> parse_log_level(std::string_view text) {
  const auto level = log::parse_level(trim(text));
  if (!level) return wrong("none of debug, info, warning, error, off");
  switch (*level) {
    case log::Level::kDebug:
      return std::string("debug");
    case log::Level::kInfo:
      return std::string("info");
    case log::Level::kWarning:
      return std::string("warning");
    case log::Level::kError:
      return std::string("error");
    case log::Level::kOff:
      return std::string("off");
  }
  return std::string();
}

}  // namespace muster::launcher
