#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

namespace muster {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0)
    (void)close(std::exchange(fd_, -1));  // Linux frees the number even when close fails
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Pipe> make_terminal(int like) {
  termios settings{};
  winsize size{};
  if (tcgetattr(like, &settings) != 0 || ioctl(like, TIOCGWINSZ, &size) != 0)
    return os_error("tcgetattr");
  UniqueFd reader(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!reader.is_open()) return os_error("posix_openpt");
  if (grantpt(reader.get()) != 0 || unlockpt(reader.get()) != 0) return os_error("unlockpt");
  UniqueFd writer(ioctl(reader.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!writer.is_open()) return os_error("ioctl TIOCGPTPEER");
  // What `like` changes on the way, it changes when we write there.
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (tcsetattr(writer.get(), TCSANOW, &settings) != 0 ||
      ioctl(writer.get(), TIOCSWINSZ, &size) != 0)
    return os_error("tcsetattr");
  return Pipe{std::move(reader), std::move(writer)};
}

Result<UniqueFd> open_null_device(int access) {
  UniqueFd fd(open("/dev/null", access | O_CLOEXEC));
  if (!fd.is_open()) return os_error("open '/dev/null'");
  return fd;
}

Status set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return os_error("fcntl F_GETFL");
  if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return os_error("fcntl F_SETFL");
  return {};
}

Result<unsigned long> raise_fd_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return os_error("getrlimit RLIMIT_NOFILE");
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return os_error("setrlimit RLIMIT_NOFILE");
  }
  return limit.rlim_cur;
}

}  // namespace muster
