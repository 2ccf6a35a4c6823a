#include "launcher/frameworks/lone_restarts.h"

#include "base/log.h"
#include "elastic/restart_policy.h"

namespace muster::launcher {

namespace {
constexpr double kJitter = 0.5;  // of the pauses of one agent nobody need be spread
}  // namespace

bool LoneRestarts::grant(int local_rank, const elastic::Classified& end) {
  const Options& options = host_->context.options;
  const auto decision =
      elastic::decide_restart({.used = used_, .would_fail_again = false},
                              {options.max_restarts, options.restart_backoff}, kJitter);
  if (!decision.restart) return false;
  ++used_;
  log::warning("worker.restart", {{"local_rank", local_rank},
                                  {"failure", end.reason},
                                  {"decision", decision.reason},
                                  {"action", "the others run on"}});
  pauses_[local_rank] = host_->doors.loop.after(
      decision.delay, [this, local_rank] { host_->resolve(local_rank, true); });
  return true;
}

}  // namespace muster::launcher
