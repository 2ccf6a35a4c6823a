#include "launcher/local/random_chaos.h"

#include <fmt/core.h>

#include <random>
#include <string>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

struct RandomOptions {
  int64_t seed = 0;
  int64_t faults = 3;
  Duration every = std::chrono::seconds(5);
};

Error wrong(std::string_view part, const std::string& complaint) {
  return {Code::kUsage, 0, fmt::format("--chaos '{}': {}", part, complaint)};
}

Status set_option(RandomOptions& options, std::string_view part, std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  const auto number = parse_integer(value);
  if (name == "every") {
    const auto every = parse_duration(value);
    if (!every || *every <= Duration::zero())
      return wrong(part, fmt::format("'{}' is no time such as every=5s", word));
    options.every = *every;
    return {};
  }
  const bool is_count =
      name == "faults" && number && *number >= 1 && *number <= static_cast<int64_t>(kMaxFaults) / 2;
  if (is_count) {
    options.faults = *number;
  } else if (name == "seed" && number && *number >= 0) {
    options.seed = *number;
  } else {
    return wrong(part, fmt::format("'{}' is none of seed=N, faults=1..{}, every=TIME", word,
                                   kMaxFaults / 2));
  }
  return {};
}

// One more would be a crash loop: the same failure three times without progress ends a job.
constexpr int kMaxKilledRanks = 2;

// A fault and what undoes it.
struct Pair {
  FaultKind fault;
  FaultKind remedy;
};
constexpr Pair kPairs[] = {
    {FaultKind::kKillNode, FaultKind::kAddNode},
    {FaultKind::kPreemptNode, FaultKind::kAddNode},
    {FaultKind::kStopNode, FaultKind::kContinueNode},
    {FaultKind::kPartition, FaultKind::kHeal},
    {FaultKind::kKillRank, FaultKind::kKillRank},  // the launcher's business
};

}  // namespace

Result<std::vector<Fault>> draw_faults(std::string_view part, int nodes) {
  RandomOptions options;
  const auto words = split(part, ':');
  for (size_t i = 1; i < words.size(); ++i)
    MUSTER_RETURN_IF_ERROR(set_option(options, part, words[i]));
  // The engine's numbers are the same everywhere; those of the library's distributions are not.
  std::mt19937_64 random(static_cast<uint64_t>(options.seed));
  std::vector<Fault> faults;
  int killed_ranks = 0;
  for (int64_t i = 1; i <= options.faults; ++i) {
    const Pair& drawn_pair = kPairs[random() % std::size(kPairs)];
    const bool too_many =
        drawn_pair.fault == FaultKind::kKillRank && ++killed_ranks > kMaxKilledRanks;
    const Pair& pair = too_many ? kPairs[0] : drawn_pair;
    // Each node has a rank of this number, however many workers they have.
    const auto drawn = static_cast<int>(random() % static_cast<uint64_t>(nodes));
    const bool is_rank = pair.fault == FaultKind::kKillRank;
    const bool is_partition = pair.fault == FaultKind::kPartition;
    Fault fault;
    fault.kind = pair.fault;
    fault.target = is_partition ? 0 : is_rank ? drawn : drawn + 1;
    if (is_partition) fault.side = {drawn + 1};
    fault.when.after = i * options.every;
    faults.push_back(fault);
    if (is_rank) continue;
    fault.kind = pair.remedy;
    fault.side.clear();
    fault.when.after += options.every / 2;
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace muster::launcher
