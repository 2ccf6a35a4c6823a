// The leader's verdict on failures: of those that ended a round, and of workers that may start
// again alone. One budget for both.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/exit_code.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

namespace {

int exit_code_of(const Failure& failure) {
  if (failure.signal != 0) return kSignalExitBase + failure.signal;
  return failure.exit_code != 0 ? failure.exit_code : 1;
}

// What they say of nodes and not of workers.
std::vector<Failure> take_unfit(std::vector<Failure>& failures) {
  std::vector<Failure> unfit;
  for (const Failure& failure : failures)
    if (failure.unfit_node) unfit.push_back(failure);
  std::erase_if(failures, [](const Failure& failure) { return failure.unfit_node.has_value(); });
  return unfit;
}

// The node of that rank in the last round, if it is here.
LeaderNode* seated_at(int rank, const Electorate& round, NodeTable& nodes) {
  const auto seat = static_cast<size_t>(rank);
  return seat < round.seats.size() ? nodes.find(round.seats[seat].incarnation) : nullptr;
}

}  // namespace

void LeaderCore::failed(TimePoint now, LeaderNode& node, uint64_t round,
                        std::vector<Failure> failures) {
  if (round != electorates_.latest.round || round == ending_.settled_round) return;
  if (state_ == LeaderState::kFinished) return;
  if (node.leave_by()) return;  // the end of a node that was told to go is no failure
  if (ending_.decision) return;
  const std::vector<Failure> unfit_nodes = take_unfit(failures);
  for (const Failure& unfit : unfit_nodes) {
    LeaderNode* named = seated_at(*unfit.unfit_node, electorates_.latest, nodes_);
    if (named == nullptr ||
        !named->health.found_unfit(now, round, options_.health_cooldown, unfit.reason))
      continue;
    const std::string why = describe(named->join.identity) + " is not fit: " + unfit.reason;
    voice_.log(log::Level::kWarning, kEventNodeUnfit,
               fmt::format("{}; out for {}", why, format_duration(named->health.cooldown())));
    if (busy()) break_round(now, BreakCause::kUnfit, why);
  }
  if (!unfit_nodes.empty() && failures.empty()) return;
  // Who was told to stop may explain another failure, and is none by itself.
  const auto told = [](const Failure& failure) { return failure.told_to_stop; };
  if (ending_.failures.empty() && std::erase_if(failures, told) > 0 && failures.empty()) return;
  std::string text = describe(node.join.identity) + " failed";
  if (!failures.empty())
    text = fmt::format("{} failed: {}", who_failed(failures.back()), failures.back().reason);
  TimePoint first = now;
  for (Failure& failure : failures) {
    failure.happened = now - std::chrono::milliseconds(failure.age_ms);
    first = std::min(first, failure.happened);
    ending_.failures.add(std::move(failure));
  }
  if (busy()) break_round(now, BreakCause::kFailure, std::move(text), first);
}

// A node that asks again, on a new link, gets the answer that it missed: nothing is charged twice.
void LeaderCore::lone_failed(TimePoint now, const LeaderNode& node, const LoneFailure& lone) {
  const bool runs = state_ == LeaderState::kAssigned || state_ == LeaderState::kRunning;
  if (!runs || node.rank() < 0 || lone.round != electorates_.latest.round) return;
  MayRestart& answer = ending_.lone[node.rank()];
  if (answer.sequence >= lone.sequence) return send(node, answer);
  RestartVerdict verdict;
  if (ending_.decision) {
    verdict.reason = ending_.decision->reason;
  } else if (node.leave_by()) {
    verdict.reason = "its node leaves";
  } else {
    verdict = policy_.after_lone_failure(now);
  }
  answer = {lone.round,           lone.sequence,  lone.rank,  verdict.restart,
            to_ms(verdict.delay), verdict.reason, budget(now)};
  voice_.log(log::Level::kDebug, kEventRoundVerdict,
             fmt::format("rank {} on {} failed: {}; alone: {}", lone.rank, node.join.identity.name,
                         lone.reason, verdict.reason),
             lone.round);
  send(node, answer);
  // Who leads next must know of it, though the node that asked may be lost with this leader. Where
  // a service outside elects, that may be any.
  for (const LeaderNode* other : nodes_) {
    const bool may_lead = elected_safe_at_ || other->join.candidate;
    if (verdict.restart && may_lead && other != &node) send(*other, answer);
  }
}

// The verdict on what ended the last round, once everything of it has stopped. False: job over.
bool LeaderCore::settle_failures(TimePoint now) {
  const BreakCause cause = std::exchange(ending_.cause, BreakCause::kNone);
  std::vector<Failure> failures = ending_.failures.take();
  if (cause != BreakCause::kNone || !failures.empty()) {
    ending_.settled_round = electorates_.latest.round;
  }
  if (failures.empty()) return true;
  const std::string why =
      explanation(cause, ending_.text, electorates_.latest, nodes_.counts().leaving, nodes_);
  if (!why.empty()) {
    voice_.log(log::Level::kInfo, kEventRoundVerdict, excuse(failures, why),
               electorates_.latest.round);
    return true;
  }
  RestartVerdict verdict = policy_.after_failures(now, failures);
  const Failure& first = failures.at(std::min(verdict.first, failures.size() - 1));
  const std::string text =
      fmt::format("{} failed first: {}; {}", who_failed(first), first.reason, verdict.reason);
  // Else the end of the job says it.
  voice_.log(verdict.restart ? log::Level::kWarning : log::Level::kDebug, kEventRoundVerdict, text,
             electorates_.latest.round);
  if (verdict.restart) {
    not_before_ = now + verdict.delay;
    return true;
  }
  end_ = JobEnd{false, exit_code_of(first), text, first, verdict.reason};
  handle(now, LeaderEvent::kGiveUp);
  return false;
}

}  // namespace muster::rendezvous
