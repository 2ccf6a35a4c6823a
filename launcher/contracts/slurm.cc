#include "launcher/contracts/slurm.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

using Names = std::vector<std::string>;

constexpr size_t kMaxHosts = kMaxNodes;
constexpr size_t kMaxNameBytes = 253;  // RFC 1035
constexpr std::string_view kStep = "SLURM_STEP_ID";
constexpr std::string_view kJob = "SLURM_JOB_ID";
constexpr std::string_view kNode = "SLURM_NODEID";
constexpr std::string_view kOwn = "SLURMD_NODENAME";
constexpr std::string_view kTasks = "SLURM_STEP_TASKS_PER_NODE";
constexpr std::string_view kGpus = "SLURM_GPUS_ON_NODE";
constexpr std::string_view kLists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"};

// At commas outside of brackets.
std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> entries;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == ']') inside = c == '[';
    if (c != ',' || (inside && i < text.size())) continue;
    entries.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return entries;
}

// "08-10,12": the numbers as written, with their zeros. Empty: wrong, or too many.
Names numbers_of(std::string_view ranges) {
  Names numbers;
  for (const std::string_view range : split(ranges, ',')) {
    const std::string_view low = range.substr(0, range.find('-'));
    const std::string_view high = low.size() < range.size() ? range.substr(low.size() + 1) : low;
    const auto first = plain_number(low);
    const auto last = plain_number(high);
    if (!first || !last || *last < *first) return {};
    if (static_cast<size_t>(*last - *first) >= kMaxHosts - numbers.size()) return {};
    for (int number = *first; number <= *last; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
  }
  return numbers;
}

// Each of `heads` with each of `tails`; empty: too many, or too long.
Names product(const Names& heads, const Names& tails) {
  Names names;
  if (heads.size() * tails.size() > kMaxHosts) return names;
  if (!tails.empty() && heads.back().size() + tails.back().size() > kMaxNameBytes) return names;
  for (const std::string& head : heads)
    for (const std::string& tail : tails) names.push_back(head + tail);
  return names;
}

Names expand_entry(std::string_view entry) {
  Names names = {""};
  while (!entry.empty() && !names.empty()) {
    const size_t open = std::min(entry.find('['), entry.size());
    names = product(names, {std::string(entry.substr(0, open))});
    entry.remove_prefix(open);
    if (entry.empty()) break;
    const size_t close = entry.find(']');
    if (close == std::string_view::npos) return {};
    names = product(names, numbers_of(entry.substr(1, close - 1)));
    entry.remove_prefix(close + 1);
  }
  return names;
}

// "1", "1(x4)", "1(x2),1": one on each node.
bool is_one_each(std::string_view counts) {
  return std::ranges::all_of(split(counts, ','), [](std::string_view count) {
    return count == "1" || count.starts_with("1(x");
  });
}

}  // namespace

Names expand_node_list(std::string_view text) {
  Names hosts;
  for (const std::string_view entry : entries_of(text)) {
    Names more = expand_entry(entry);
    const bool wrong = entry.empty() || more.empty() || hosts.size() + more.size() > kMaxHosts;
    if (wrong) return {};
    std::ranges::move(more, std::back_inserter(hosts));
  }
  return hosts;
}

std::optional<Contract> read_slurm(const PodFacts& pod) {
  const auto job = number_of(pod, kJob);
  const auto node = number_of(pod, kNode);
  // The shell of salloc is a step with a number beyond those of srun's.
  if (!job || !node || !number_of(pod, kStep)) return std::nullopt;
  const std::string_view list = kLists[pod.environment.has(kLists[0]) ? 0 : 1];
  const Names hosts = expand_node_list(text_of(pod, list));
  const bool is_listed = std::ranges::any_of(hosts, [&pod](const std::string& host) {
    return first_label(host) == first_label(pod.host_name);
  });
  if (in_kubernetes(pod) && !is_listed) return std::nullopt;
  Contract contract;
  contract.controller = "Slurm";
  // Names are not unique, and two jobs of one name may run at once.
  contract.job = text_of(pod, "SLURM_JOB_NAME") + "-" + std::to_string(*job);
  if (const auto gpus = number_of(pod, kGpus); gpus && *gpus > 0)
    say(contract, flag::kNprocPerNode, std::to_string(*gpus), kGpus);
  if (hosts.empty()) {
    lack(contract, flag::kRdzvEndpoint,
         std::string(list) + " " + quote_if_needed(text_of(pod, list)) + " is no list of hosts");
    return contract;
  }
  say_hosts(contract, hosts, 0, list);
  if (const std::string tasks = text_of(pod, kTasks); !tasks.empty() && !is_one_each(tasks)) {
    contradict(contract, flag::kNodeRank,
               std::string(kTasks) + " is " + quote_if_needed(tasks) +
                   ", and Muster starts a node's workers itself: srun --ntasks-per-node=1");
  } else if (const std::string own = text_of(pod, kOwn);
             !own.empty() && std::ranges::find(hosts, own) == hosts.end()) {
    contradict(contract, flag::kNodeRank,
               std::string(list) + " does not list " + std::string(kOwn) + " '" + own + "'");
  } else {
    say_rank(contract, *node, static_cast<int>(hosts.size()), kNode);
  }
  return contract;
}

}  // namespace muster::launcher
