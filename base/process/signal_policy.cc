#include "base/process/signal_policy.h"

#include <algorithm>
#include <csignal>

namespace muster {

namespace {
bool contains(const std::vector<int>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}
}  // namespace

std::string_view to_string(SignalResponse response) {
  switch (response) {
    case SignalResponse::kReap:
      return "reap";
    case SignalResponse::kStop:
      return "stop";
    case SignalResponse::kSuspend:
      return "suspend";
    case SignalResponse::kResume:
      return "resume";
    case SignalResponse::kForward:
      return "forward";
    case SignalResponse::kIgnore:
      return "ignore";
  }
  return "ignore";
}

SignalResponse respond_to(int signal, const std::vector<int>& stop_signals,
                          const std::vector<int>& ignored_at_start) {
  if (signal == SIGCHLD) return SignalResponse::kReap;
  if (signal == SIGPIPE || signal == SIGTTIN || signal == SIGTTOU) return SignalResponse::kIgnore;
  if (signal == SIGHUP && contains(ignored_at_start, SIGHUP)) return SignalResponse::kIgnore;
  if (contains(stop_signals, signal)) return SignalResponse::kStop;
  if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP)
    return SignalResponse::kStop;
  if (signal == SIGTSTP) return SignalResponse::kSuspend;
  if (signal == SIGCONT) return SignalResponse::kResume;
  return SignalResponse::kForward;
}

}  // namespace muster
