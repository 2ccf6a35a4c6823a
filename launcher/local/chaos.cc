#include "launcher/local/chaos.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"
#include "launcher/local/random_chaos.h"

namespace muster::launcher {

namespace {

enum class Target { kNode, kNewNode, kRank, kSide, kNone };

struct Word {
  std::string_view name;
  FaultKind kind;
  Target target;
};
constexpr Word kWords[] = {
    {"kill-node", FaultKind::kKillNode, Target::kNode},
    {"stop-node", FaultKind::kStopNode, Target::kNode},
    {"continue-node", FaultKind::kContinueNode, Target::kNode},
    {"preempt-node", FaultKind::kPreemptNode, Target::kNode},
    {"add-node", FaultKind::kAddNode, Target::kNewNode},
    {"kill-rank", FaultKind::kKillRank, Target::kRank},
    {"partition", FaultKind::kPartition, Target::kSide},
    {"heal", FaultKind::kHeal, Target::kNone},
};
constexpr int kMaxRank = 65'535;
constexpr std::string_view kRoundEvent = "round.running";  // of the agents' log

Error wrong(std::string_view part, const std::string& complaint) {
  return {Code::kUsage, 0, fmt::format("--chaos '{}': {}", part, complaint)};
}

Result<int> parse_node(std::string_view part, std::string_view text, int nodes) {
  if (text.empty()) return wrong(part, fmt::format("which node? they are 1 to {}", nodes));
  const auto node = parse_integer(text);
  if (!node || *node < 1 || *node > nodes)
    return wrong(part, fmt::format("'{}' is no node; they are 1 to {}", text, nodes));
  return static_cast<int>(*node);
}

Result<Word> find_word(std::string_view part, std::string_view name) {
  std::vector<std::string> names;
  for (const Word& word : kWords) {
    if (word.name == name) return word;
    names.emplace_back(word.name);
  }
  return wrong(part, fmt::format("'{}' is none of {}, random", name, join(names, ", ")));
}

Status parse_side(Fault& fault, std::string_view part, std::string_view text, int nodes) {
  for (const std::string_view word : split(text, '+')) {
    auto node = parse_node(part, word, nodes);
    if (!node) return std::move(node).error();
    if (std::ranges::find(fault.side, *node) != fault.side.end())
      return wrong(part, fmt::format("node {} comes twice", *node));
    fault.side.push_back(*node);
  }
  return {};
}

// `text`: what is behind the colon; "" = no colon.
Status parse_target(Fault& fault, Target target, std::string_view part, std::string_view text,
                    int nodes) {
  switch (target) {
    case Target::kNewNode:
      if (text.empty()) return {};
      nodes = kMaxLocalNodes;
      [[fallthrough]];
    case Target::kNode: {
      auto node = parse_node(part, text, nodes);
      if (!node) return std::move(node).error();
      fault.target = *node;
      return {};
    }
    case Target::kRank: {
      if (text.empty()) return wrong(part, "which rank? as in kill-rank:0@5s");
      const auto rank = parse_integer(text);
      if (!rank || *rank < 0 || *rank > kMaxRank)
        return wrong(part, fmt::format("'{}' is no rank", text));
      fault.target = static_cast<int>(*rank);
      return {};
    }
    case Target::kSide:
      return parse_side(fault, part, text, nodes);
    case Target::kNone:
      if (text.empty()) return {};
      return wrong(part, fmt::format("'{}' is too much", text));
  }
  return {};
}

Result<FaultTime> parse_time(std::string_view part, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    const auto after = parse_duration(text);
    if (!after) return wrong(part, fmt::format("'{}' is no time such as 5s or 500ms", text));
    return FaultTime{*after, "", 0};
  }
  const auto number = parse_integer(text.substr(equals + 1));
  if (equals == 0 || !number || *number < 0)
    return wrong(part, fmt::format("'{}' is nothing such as round=2 or epoch=3", text));
  return FaultTime{Duration::zero(), std::string(text.substr(0, equals)), *number};
}

Result<Fault> parse_fault(std::string_view part, int nodes) {
  if (part.empty())
    return Error{Code::kUsage, 0, "--chaos: there is nothing before, behind or between commas"};
  const size_t at = part.find('@');
  if (at == std::string_view::npos)
    return wrong(part, "no '@': it must say when, as in kill-node:2@5s");
  const std::string_view what = part.substr(0, at);
  const size_t colon = what.find(':');
  const bool has_target = colon != std::string_view::npos;
  auto word = find_word(part, what.substr(0, colon));
  if (!word) return std::move(word).error();
  Fault fault;
  fault.kind = word->kind;
  MUSTER_RETURN_IF_ERROR(parse_target(
      fault, word->target, part, has_target ? what.substr(colon + 1) : std::string_view(), nodes));
  auto when = parse_time(part, part.substr(at + 1));
  if (!when) return std::move(when).error();
  fault.when = std::move(*when);
  return fault;
}

// The highest number that a node of this text can have.
int highest_node(std::string_view text, int nodes) {
  int highest = nodes;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view what = trim(part).substr(0, trim(part).find('@'));
    if (what == "add-node") ++highest;
    if (!what.starts_with("add-node:")) continue;
    const auto node = parse_integer(what.substr(what.find(':') + 1));
    if (node && *node <= kMaxLocalNodes) highest = std::max(highest, static_cast<int>(*node));
  }
  return std::min(highest, kMaxLocalNodes);
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "epoch 3", "epoch=3", "epoch: 3/10", "\"step\":20".
std::optional<int64_t> number_behind(std::string_view text) {
  const size_t digits = text.find_first_not_of(" \t=:#\"[(");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  text.remove_prefix(digits);
  return parse_integer(text.substr(0, text.find_first_not_of("0123456789")));
}

}  // namespace

Result<std::vector<Fault>> parse_chaos(std::string_view text, int nodes) {
  std::vector<Fault> faults;
  if (text.empty()) return faults;
  const int highest = highest_node(text, nodes);
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    std::vector<Fault> next;
    if (part == "random" || part.starts_with("random:")) {
      auto drawn = draw_faults(part, nodes);
      if (!drawn) return std::move(drawn).error();
      next = std::move(*drawn);
    } else {
      auto fault = parse_fault(part, highest);
      if (!fault) return std::move(fault).error();
      next.push_back(std::move(*fault));
    }
    faults.insert(faults.end(), next.begin(), next.end());
    if (faults.size() > kMaxFaults)
      return Error{Code::kLimit, 0, fmt::format("--chaos: more than {} faults", kMaxFaults)};
  }
  return faults;
}

std::string to_string(const Fault& fault) {
  const Word* word = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&fault](const Word& each) { return each.kind == fault.kind; });
  std::string text(word->name);
  std::vector<std::string> side;
  for (const int node : fault.side) side.push_back(std::to_string(node));
  if (word->target == Target::kSide) text += ":" + join(side, "+");
  const bool numbered = word->target == Target::kNode || word->target == Target::kRank ||
                        (word->target == Target::kNewNode && fault.target > 0);
  if (numbered) text += ":" + std::to_string(fault.target);
  if (!fault.when.word.empty())
    return text + fmt::format("@{}={}", fault.when.word, fault.when.number);
  return text + fmt::format("@{}s", to_seconds(fault.when.after));
}

const Fault* find_partition(const std::vector<Fault>& faults) {
  const auto found = std::find_if(faults.begin(), faults.end(), [](const Fault& fault) {
    return fault.kind == FaultKind::kPartition;
  });
  return found == faults.end() ? nullptr : &*found;
}

bool is_due(const FaultTime& when, std::string_view line) {
  if (when.word.empty()) return false;
  if (when.word == "round" && line.find(kRoundEvent) == std::string_view::npos) return false;
  for (size_t at = line.find(when.word); at != std::string_view::npos;
       at = line.find(when.word, at + 1)) {
    if (at > 0 && is_word_char(line[at - 1])) continue;
    const auto number = number_behind(line.substr(at + when.word.size()));
    if (number && *number >= when.number) return true;
  }
  return false;
}

}  // namespace muster::launcher
