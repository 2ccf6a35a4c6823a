// The leader's verdict on failures: of those that ended a round, and of workers that may start
// again alone. One budget for both.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/exit_code.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

namespace {

int exit_code_of(const Failure& failure) {
  if (failure.signal != 0) return kSignalExitBase + failure.signal;
  return failure.exit_code != 0 ? failure.exit_code : 1;
}

}  // namespace

void LeaderCore::failed(TimePoint now, LeaderNode& node, uint64_t round,
                        std::vector<Failure> failures) {
  if (round != electorates_.latest.round || round == ending_.settled_round) return;
  if (state_ == LeaderState::kFinished) return;
  if (node.leave_by()) return;  // the end of a node that was told to go is no failure
  if (ending_.decision) return;
  // Who was told to stop may explain another failure, and is none by itself.
  const auto told = [](const Failure& failure) { return failure.told_to_stop; };
  if (ending_.failures.empty() && std::erase_if(failures, told) > 0 && failures.empty()) return;
  std::string text = describe(node.join.identity) + " failed";
  if (!failures.empty())
    text = fmt::format("{} failed: {}", who_failed(failures.back()), failures.back().reason);
  for (Failure& failure : failures) {
    failure.happened = now - std::chrono::milliseconds(failure.age_ms);
    ending_.failures.add(std::move(failure));
  }
  if (busy()) break_round(now, BreakCause::kFailure, std::move(text));
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
                         lone.reason, verdict.reason));
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
    voice_.log(log::Level::kInfo, kEventRoundVerdict, excuse(failures, why));
    return true;
  }
  RestartVerdict verdict = policy_.after_failures(now, failures);
  const Failure& first = failures.at(std::min(verdict.first, failures.size() - 1));
  const std::string text =
      fmt::format("{} failed first: {}; {}", who_failed(first), first.reason, verdict.reason);
  // Else the end of the job says it.
  voice_.log(verdict.restart ? log::Level::kWarning : log::Level::kDebug, kEventRoundVerdict, text);
  if (verdict.restart) {
    not_before_ = now + verdict.delay;
    return true;
  }
  end_ = JobEnd{false, exit_code_of(first), text, first, verdict.reason};
  handle(now, LeaderEvent::kGiveUp);
  return false;
}

}  // namespace muster::rendezvous
