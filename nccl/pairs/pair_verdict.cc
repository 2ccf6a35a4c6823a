#include "nccl/pairs/pair_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace muster::nccl {
namespace {

// Of an even number the better one: of four nodes one bad one spoils half of the pairs.
double median(const std::vector<PairResult>& pairs, double PairResult::*field,
              bool more_is_better) {
  std::vector<double> values;
  for (const PairResult& pair : pairs) {
    if (pair.failure.empty()) values.push_back(pair.*field);
  }
  if (values.empty()) return 0;
  // Of three nodes a bad one spoils two of the three pairs: the best one is how it should be.
  const size_t last = values.size() - 1;
  const size_t place = values.size() <= 3 ? (more_is_better ? last : 0)
                                          : (more_is_better ? values.size() / 2 : last / 2);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Who is at fault for a bad pair, by who is in a good one.
class Blame {
 public:
  Blame(const std::vector<PairResult>& pairs, const std::vector<std::string>& names,
        const std::function<bool(const PairResult&)>& is_bad)
      : names_(names) {
    for (const PairResult& pair : pairs) {
      if (is_bad(pair)) continue;
      cleared_.insert(pair.low);
      cleared_.insert(pair.high);
    }
    for (const PairResult& pair : pairs) {
      if (!is_bad(pair) || cleared_.contains(pair.low) == cleared_.contains(pair.high)) continue;
      guilty_.insert(cleared_.contains(pair.low) ? pair.high : pair.low);
    }
  }
  // Who alone is at fault; none = the link is, or nobody can tell.
  [[nodiscard]] std::optional<int> node_of(const PairResult& pair) const {
    if (pair.absent) return pair.absent;
    const bool low = cleared_.contains(pair.low);
    const bool high = cleared_.contains(pair.high);
    // Of an odd number two are measured once: with a guilty one they have no pair to clear them.
    if (!low && !high && guilty_.contains(pair.low)) return pair.low;
    if (!low && !high && guilty_.contains(pair.high)) return pair.high;
    if (low == high) return std::nullopt;
    return low ? pair.high : pair.low;
  }
  // "host-2", "the link between host-1 and host-2", "host-1 or host-2".
  [[nodiscard]] std::string of(const PairResult& pair) const {
    if (const auto node = node_of(pair)) return name(*node);
    if (cleared_.contains(pair.low))
      return "the link between " + name(pair.low) + " and " + name(pair.high);
    return name(pair.low) + " or " + name(pair.high);
  }
  [[nodiscard]] const std::string& name(int node) const {
    return names_[static_cast<size_t>(node)];
  }

 private:
  const std::vector<std::string>& names_;
  std::set<int> cleared_;  // in a good pair
  std::set<int> guilty_;   // alone at fault for a bad one
};

}  // namespace

std::string format_rate(double bytes_per_second) {
  if (bytes_per_second >= 1e9) return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9);
  if (bytes_per_second >= 1e6) return fmt::format("{:.0f} MB/s", bytes_per_second / 1e6);
  return fmt::format("{:.0f} kB/s", bytes_per_second / 1e3);
}

namespace {

// What is said of the pairs, beside their figures.
struct Way {
  std::string over;    // " over efa"; "" = TCP
  std::string remedy;  // where two do not reach each other
};

Way tcp() {
  return {"",
          "let all TCP ports pass between the nodes of a job, and look at the "
          "link of that node"};
}
Way over(const std::string& provider) {
  return {" over " + provider,
          "let what the provider sends pass between the nodes of a job (for EFA: a security group "
          "that allows itself), and look at the device of that node"};
}

// The pairs that were measured over a provider, with those figures.
std::vector<PairResult> provider_pairs(const std::vector<PairResult>& pairs) {
  std::vector<PairResult> chosen;
  for (const PairResult& pair : pairs) {
    if (!pair.over_provider) continue;
    PairResult& way = chosen.emplace_back(pair);
    way.failure = pair.over_provider->failure;
    way.latency_us = pair.over_provider->latency_us;
    way.bytes_per_second = pair.over_provider->bytes_per_second;
  }
  return chosen;
}

PairVerdict judge_way(const std::vector<PairResult>& pairs, const std::vector<std::string>& names,
                      const Way& way) {
  const double usual = median(pairs, &PairResult::bytes_per_second, /*more_is_better=*/true);
  const double usual_latency = median(pairs, &PairResult::latency_us, /*more_is_better=*/false);
  const auto is_slow = [usual](const PairResult& pair) {
    return pair.failure.empty() && pair.bytes_per_second < usual * kSlowPart;
  };
  const auto is_bad = [&is_slow](const PairResult& pair) {
    return !pair.failure.empty() || is_slow(pair);
  };
  const auto is_late = [usual_latency](const PairResult& pair) {
    return pair.failure.empty() && pair.latency_us > kLateUs &&
           pair.latency_us > usual_latency * kLateTimes;
  };
  const auto bad_pairs = [&](int node) {
    return std::ranges::count_if(pairs, [&](const PairResult& pair) {
      return is_bad(pair) && (pair.low == node || pair.high == node);
    });
  };
  const Blame blame(pairs, names, is_bad);
  const Blame late_blame(pairs, names,
                         [&](const PairResult& pair) { return is_bad(pair) || is_late(pair); });
  PairVerdict verdict;
  std::vector<Finding>& findings = verdict.findings;
  std::set<std::string> told;  // a node is named once, though it is bad with both of its partners
  for (const PairResult& pair : pairs) {
    if (!is_bad(pair)) continue;
    const std::string who = blame.of(pair);
    if (!told.insert(who).second) continue;
    const std::string both = blame.name(pair.low) + " and " + blame.name(pair.high);
    if (!pair.failure.empty()) {
      findings.push_back(
          {"firewall", Severity::kError,
           fmt::format("{}: {} do not reach each other{}: {}", who, both, way.over, pair.failure),
           way.remedy});
    } else {
      findings.push_back(
          {"bw_pair", Severity::kError,
           fmt::format("{}: {} between {}{}, the median of all pairs is {}", who,
                       format_rate(pair.bytes_per_second), both, way.over, format_rate(usual)),
           "look at the link of that node, or leave it out"});
    }
    const auto node = blame.node_of(pair);
    if (node && (pair.absent || bad_pairs(*node) > 1))
      verdict.faulty.push_back({*node, findings.back().id + ": " + findings.back().what});
  }
  for (const PairResult& pair : pairs) {
    if (is_bad(pair) || !is_late(pair)) continue;
    const std::string who = late_blame.of(pair);
    if (!told.insert(who).second) continue;
    findings.push_back({"lat_pair", Severity::kWarning,
                        fmt::format("{}: {:.0f} us between {} and {}{}, the median of all pairs is "
                                    "{:.0f} us",
                                    who, pair.latency_us, blame.name(pair.low),
                                    blame.name(pair.high), way.over, usual_latency),
                        "look at the link of that node"});
  }
  return verdict;
}

}  // namespace

PairVerdict judge_pairs(const std::vector<PairResult>& pairs,
                        const std::vector<std::string>& names) {
  PairVerdict verdict = judge_way(pairs, names, tcp());
  const auto measured = provider_pairs(pairs);
  if (measured.empty()) return verdict;
  PairVerdict more = judge_way(measured, names, over(measured.front().over_provider->provider));
  for (Finding& finding : more.findings) verdict.findings.push_back(std::move(finding));
  std::ranges::stable_sort(verdict.findings, std::ranges::greater(), &Finding::severity);
  return verdict;
}

}  // namespace muster::nccl
