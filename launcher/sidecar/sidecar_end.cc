#include "launcher/sidecar/sidecar_end.h"

#include "base/exit_code.h"

namespace muster::launcher {

int exit_code_of(const SidecarFacts& facts) {
  const bool is_over = facts.has_end && !facts.agent_there;
  return facts.delivered || is_over ? kExitSuccess : kExitRetry;
}

SidecarVerdict judge_end(const SidecarFacts& facts, Duration flush) {
  constexpr SidecarVerdict kStays;
  const auto ends = [&facts](std::string_view reason) {
    return SidecarVerdict{true, exit_code_of(facts), reason};
  };
  if (facts.asked && facts.since_asked >= flush) return ends("the time to flush is over");
  if (facts.agent_there) return kStays;
  if (!facts.delivered) {
    return facts.without_agent >= kMaxAfterAgent
               ? ends("the agent has ended, and not all could be told")
               : kStays;
  }
  if (facts.asked) return ends("told to end");
  if (!facts.has_lines) return kStays;
  if (!facts.has_end) {
    return facts.without_agent >= kSuccessorWait ? ends("the agent has ended without a word")
                                                 : kStays;
  }
  if (facts.had_news) return ends("the job has ended");
  return facts.without_agent >= kNothingNewWait ? ends("the job had ended before") : kStays;
}

}  // namespace muster::launcher
