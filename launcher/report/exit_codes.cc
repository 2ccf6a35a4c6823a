#include "launcher/report/exit_codes.h"

#include "base/check.h"

namespace muster::launcher {

int exit_code_of_error(Personality personality, const Error& error) {
  if (personality == Personality::kMuster) return exit_code_of(error);
  return error.code == Code::kUsage ? kTorchrunUsage : kTorchrunFailure;
}

int exit_code_of_worker(Personality personality, const ExitStatus& first_failed) {
  MUSTER_CHECK(!first_failed.success());
  return personality == Personality::kMuster ? first_failed.shell_code() : kTorchrunFailure;
}

int exit_code_of_signal(Personality personality, int signal) {
  return personality == Personality::kMuster ? ExitStatus{.signal = signal}.shell_code()
                                             : kTorchrunFailure;
}

}  // namespace muster::launcher
