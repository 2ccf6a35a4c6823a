#include "base/exit_code.h"

#include <cerrno>
#include <string>

#include "base/check.h"
#include "base/text.h"

namespace muster {

namespace {

// What another attempt on this or another node may not meet again.
bool is_passing_shortage(int os_errno) {
  return os_errno == EAGAIN || os_errno == ENOMEM || os_errno == ENFILE;
}

int os_code(int os_errno) { return is_passing_shortage(os_errno) ? kExitRetry : kExitOs; }

}  // namespace

int exit_code_of(const Error& error) {
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
  const std::string line = one_line(std::string(who) + ": " + std::string(what)) + "\n";
  (void)std::fputs(line.c_str(), errors);  // nobody is left to tell
  return exit_code;
}

}  // namespace muster
