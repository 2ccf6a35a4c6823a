#include "launcher/frameworks/mpi/launcher_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace muster::launcher {

bool is_dev_null(int fd) {
  struct stat given {};
  struct stat null {};
  return fstat(fd, &given) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(given.st_mode) &&
         given.st_rdev == null.st_rdev;
}

Result<UniqueFd> open_launcher_input(mpi::Implementation implementation) {
  if (implementation == mpi::Implementation::kOpenMpi || !is_dev_null(STDIN_FILENO))
    return UniqueFd();
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  // Its own writer: it needs nobody who holds the other end.
  const std::string path = "/proc/self/fd/" + std::to_string(pipe->read_end.get());
  UniqueFd both(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!both.is_open()) return os_error(path);
  return both;
}

}  // namespace muster::launcher
