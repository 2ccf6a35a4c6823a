#include "elastic/preemption.h"

#include <fmt/core.h>

#include "base/signals.h"
#include "base/text.h"

namespace muster::elastic {

PreemptionPlan plan_preemption(const PreemptionOptions& options, bool leaver_is_self,
                               Duration grace, const std::string& leaver) {
  const std::string who = leaver_is_self ? "this node" : leaver;
  if (grace <= Duration::zero()) return {0, who + " leaves at once"};
  if (!leaver_is_self && !options.notify_all) {
    return {0, fmt::format("{} leaves; workers here are not told (--preempt-notify all tells them)",
                           who)};
  }
  return {options.signal, fmt::format("{} leaves; {} to the workers, {} to save", who,
                                      signal_name(options.signal), format_duration(grace / 2))};
}

}  // namespace muster::elastic
