#include "rendezvous/agreement/takeover.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::rendezvous {

namespace {

LeadDecision not_now(std::string reason, std::optional<TimePoint> wake_at = std::nullopt) {
  return {.lead = false, .uncertain = false, .wake_at = wake_at, .reason = std::move(reason)};
}

// Somebody leads, will lead, or must be heard first. None: the question is left to time.
std::optional<LeadDecision> somebody_else(const LeadQuestion& question) {
  for (size_t i = 0; i < question.views.size(); ++i) {
    if (static_cast<int>(i) == question.self) continue;
    const bool earlier = static_cast<int>(i) < question.self;
    switch (question.views[i]) {
      case CandidateView::kLeading:
        return not_now(question.names[i] + " leads");
      case CandidateView::kServed:
        return not_now(question.names[i] + " has a leader");
      case CandidateView::kUnasked:
        return not_now(question.names[i] + " was not asked yet");
      case CandidateView::kFollowing:
        if (earlier) return not_now(question.names[i] + " comes first");
        break;
      case CandidateView::kSilent:
      case CandidateView::kGone:
      case CandidateView::kAbsent:
        break;
    }
  }
  return std::nullopt;
}

}  // namespace

LeadDecision decide_lead(TimePoint now, const LeadQuestion& question) {
  if (auto decision = somebody_else(question)) return *decision;
  LeadDecision lead{.lead = true, .uncertain = false, .wake_at = {}, .reason = ""};
  for (size_t i = 0; i < question.views.size(); ++i) {
    if (static_cast<int>(i) == question.self) continue;
    if (question.views[i] == CandidateView::kSilent) lead.uncertain = true;
    const bool died = question.views[i] == CandidateView::kGone && question.had_leader;
    if (static_cast<int>(i) > question.self || died) continue;
    const TimePoint until = question.seen[i] + question.lease;
    if (now < until) {
      return not_now(fmt::format("{}, an earlier endpoint, may come to lead for {} more",
                                 question.names[i], format_duration(until - now)),
                     until);
    }
  }
  lead.reason = question.self == 0 ? "the first endpoint, and nobody leads"
                                   : "no earlier endpoint is there, and nobody leads";
  return lead;
}

Quorum decide_quorum(uint64_t round, std::span<const NodeFate> nodes) {
  size_t present = 0;
  size_t open = 0;
  bool lowest_is_present = false;
  for (const NodeFate& node : nodes) {
    if (node.fate == Fate::kGone) continue;
    if (open == 0) lowest_is_present = node.fate == Fate::kPresent;
    ++open;
    if (node.fate == Fate::kPresent) ++present;
  }
  const bool half = 2 * present == open;
  const bool enough = 2 * present > open || (half && (open == 0 || lowest_is_present));
  const bool vacant = open == 0;
  const auto reason = [present, open, round, half, lowest_is_present] {
    const std::string_view lowest =
        lowest_is_present ? ", with the lowest" : ", without the lowest";
    return fmt::format("{} of the {} of round {} that may still run {} here{}", present,
                       counted(open, "node", "nodes"), round, present == 1 ? "is" : "are",
                       half && open > 0 ? lowest : "");
  };
  return {enough, reason, vacant};
}

Quorum decide_first_quorum(int here, int most, int min) {
  const int elsewhere = std::max(0, most - here);
  const bool enough = elsewhere < std::min(here, min);
  const auto reason = [here, most, min, enough] {
    const std::string all = counted(static_cast<size_t>(most), "node", "nodes");
    if (enough) return fmt::format("{} of at most {}", here, all);
    const int others = std::min(min, most - here);
    return fmt::format(
        "{} of at most {} {} here; an endpoint that is silent may lead the others, of whom {} {} "
        "enough",
        here, all, here == 1 ? "is" : "are", others, others == 1 ? "is" : "are");
  };
  return {enough, reason, true};
}

TimePoint safe_to_form(std::span<const NodeFate> nodes, TimePoint rival_until, Duration lease) {
  TimePoint safe = rival_until;
  for (const NodeFate& node : nodes) {
    if (node.fate != Fate::kUnknown) continue;
    safe = std::max(safe, node.heard.value_or(rival_until) + lease);
  }
  return safe;
}

}  // namespace muster::rendezvous
