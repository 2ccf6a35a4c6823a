#include "launcher/sidecar/sidecar_end.h"

#include "base/exit_code.h"

namespace muster::launcher {

SidecarVerdict judge_end(const SidecarFacts& facts, Duration flush) {
  constexpr SidecarVerdict kStays;
  const auto ends = [&facts](std::string_view reason) {
    return SidecarVerdict{true, facts.delivered ? kExitSuccess : kExitRetry, reason};
  };
  if (facts.asked && facts.since_asked >= flush) return ends("the time to flush is over");
  if (facts.agent_there) return kStays;
  if (!facts.delivered) {
    return facts.without_agent >= kMaxAfterAgent
               ? ends("the agent has ended, and a receiver is away")
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
