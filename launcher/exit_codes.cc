#include "launcher/exit_codes.h"

#include "base/check.h"

namespace muster::launcher {

namespace {

// What another attempt on this or another node may not meet again.
bool is_passing_shortage(int os_errno) {
  return os_errno == EAGAIN || os_errno == ENOMEM || os_errno == ENFILE;
}

int os_code(int os_errno) { return is_passing_shortage(os_errno) ? kExitRetry : kExitOs; }

int muster_code(const Error& error) {
  switch (error.code) {
    case Code::kUsage:
      return kExitUsage;
    case Code::kConfig:
    case Code::kLimit:
      return kExitConfig;
    case Code::kExec:
      return start_failure_code(error.os_errno);
    case Code::kOs:
      return os_code(error.os_errno);
    case Code::kPeer:
    case Code::kTimeout:
    case Code::kProtocol:
      return kExitUnavailable;
    case Code::kInternal:
      return kExitInternal;
  }
  MUSTER_CHECK(false);
}

}  // namespace

int exit_code_of_error(Personality personality, const Error& error) {
  if (personality == Personality::kMuster) return muster_code(error);
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

int start_failure_code(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      return kExitNotFound;
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case EISDIR:
      return kExitNotExecutable;
    default:
      return os_code(os_errno);
  }
}

int complain(std::FILE* errors, std::string_view who, std::string_view what, int exit_code) {
  const std::string line = std::string(who) + ": " + std::string(what) + "\n";
  (void)std::fputs(line.c_str(), errors);  // nobody is left to tell
  return exit_code;
}

}  // namespace muster::launcher
