#include "elastic/restart_policy.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::elastic {

namespace {

Duration nominal_backoff(int used, Duration first) {
  const Duration longest = std::max(first, kMaxBackoff);
  Duration nominal = first;
  // Doubling stops at the limit, so neither the number of rounds nor the product can run away.
  for (int i = 0; i < used && nominal > Duration::zero() && nominal < longest; ++i) {
    nominal = std::min(nominal * 2, longest);
  }
  return nominal;
}

RestartDecision refuse(std::string reason) {
  return {.restart = false, .delay = Duration::zero(), .reason = std::move(reason)};
}

}  // namespace

RestartDecision decide_restart(const RestartState& state, const RestartOptions& options,
                               double jitter) {
  if (state.would_fail_again) return refuse("not restarted: the same start would fail again");
  if (options.max_restarts == 0) return refuse("no restarts allowed (--max-restarts 0)");
  if (state.used >= options.max_restarts) {
    return refuse(options.max_restarts == 1 ? "the only restart is used"
                                            : fmt::format("all {} restarts used", state.used));
  }
  const std::chrono::duration<double> nominal = nominal_backoff(state.used, options.backoff);
  const auto delay = std::chrono::duration_cast<Duration>(nominal * (0.5 + 0.5 * jitter));
  const std::string when = delay == Duration::zero() ? "at once" : "in " + format_duration(delay);
  return {.restart = true,
          .delay = delay,
          .reason = fmt::format("restart {} of {} {}", state.used + 1, options.max_restarts, when)};
}

}  // namespace muster::elastic
