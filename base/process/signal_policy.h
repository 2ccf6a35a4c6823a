// What the agent does about each signal it receives. Pure. Nothing is ever answered with the
// default action: a signal that would kill the agent would orphan its workers.
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"

namespace muster {

enum class SignalResponse {
  kReap,     ///< SIGCHLD: a child ended
  kStop,     ///< end the job: stop the workers with this signal, exit 128 + signal
  kSuspend,  ///< SIGTSTP: stop the workers' groups, then ourselves (Ctrl-Z)
  kResume,   ///< SIGCONT: continue the workers' groups
  kForward,  ///< pass it on to every rank process
  kIgnore,   ///< of no use to anybody: SIGPIPE (writes tell), SIGTTIN and SIGTTOU (job control of
             ///< our own terminal)
};
[[nodiscard]] std::string_view to_string(SignalResponse response);

/// `stop_signals` are --signals-to-handle. SIGTERM, SIGINT and SIGQUIT stop the job even when not
/// among them (torchrun dies of such a signal and leaves its workers); SIGHUP too, unless it was
/// ignored when we were started (nohup).
[[nodiscard]] SignalResponse respond_to(int signal, const std::vector<int>& stop_signals,
                                        const std::vector<int>& ignored_at_start);

/// A stop signal that follows the first within this time is the same request told twice (a shell
/// and its group, a supervisor that signals both); a later one means "now" and cuts the grace
/// period short.
inline constexpr Duration kSameStopWithin = std::chrono::milliseconds(500);

}  // namespace muster
