#include "base/console_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <utility>

namespace muster {

namespace {

constexpr int kPolledWritesPerCall = 16;  // bounds one call; the caller comes back

// -1 when refused: EACCES for another user's pipe, ENXIO when nobody reads it.
UniqueFd reopen(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return UniqueFd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

ConsoleFd::ConsoleFd(int fd, bool may_reopen) : inherited_(fd) {
  struct stat info {};
  is_open_ = fstat(fd, &info) == 0;
  if (!is_open_) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  is_terminal_ = S_ISCHR(info.st_mode) && isatty(fd) == 1;
  if (S_ISSOCK(info.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(info.st_mode) || is_terminal_) {
    if (may_reopen) own_ = reopen(fd);
    kind_ = own_.is_open() ? Kind::kReopened : Kind::kPolled;
  }
}

ConsoleFd::Written ConsoleFd::write(std::string_view bytes) {
  if (kind_ == Kind::kPolled) return write_polled(bytes);
  if (kind_ == Kind::kPlain) return write_plain(bytes);
  for (;;) {
    const ssize_t taken = kind_ == Kind::kSocket ? send(inherited_, bytes.data(), bytes.size(),
                                                        MSG_DONTWAIT | MSG_NOSIGNAL)
                                                 : ::write(own_.get(), bytes.data(), bytes.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return {0, errno};
    // Less than all means full: a second call would only be told so.
    const auto size = static_cast<size_t>(taken);
    return {size, size < bytes.size() ? EAGAIN : 0};
  }
}

ConsoleFd::Written ConsoleFd::write_polled(std::string_view bytes) const {
  Written total;
  for (int i = 0; i < kPolledWritesPerCall && total.bytes < bytes.size(); ++i) {
    pollfd request{inherited_, POLLOUT, 0};
    if (poll(&request, 1, 0) <= 0) break;
    const std::string_view piece = bytes.substr(total.bytes, PIPE_BUF);
    const ssize_t taken = ::write(inherited_, piece.data(), piece.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return {total.bytes, errno};
    total.bytes += static_cast<size_t>(taken);
  }
  if (total.bytes < bytes.size()) total.os_errno = EAGAIN;
  return total;
}

ConsoleFd::Written ConsoleFd::write_plain(std::string_view bytes) const {
  Written total;
  while (total.bytes < bytes.size()) {
    const std::string_view rest = bytes.substr(total.bytes);
    const ssize_t taken = ::write(inherited_, rest.data(), rest.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return {total.bytes, errno};
    total.bytes += static_cast<size_t>(taken);
  }
  return total;
}

void ConsoleFd::grow_pipe() {
  constexpr int kUsualBytes = 64 * 1024;  // pipe(7); whoever set another size meant it
  if (kind_ != Kind::kReopened || is_terminal_ || std::exchange(asked_for_room_, true)) return;
  if (fcntl(own_.get(), F_GETPIPE_SZ) != kUsualBytes) return;
  // Refused beyond the limit of the user who made it (pipe-user-pages-soft); then it stays.
  (void)fcntl(own_.get(), F_SETPIPE_SZ, kGrownConsoleBytes);
}

bool ConsoleFd::same_object(const ConsoleFd& other) const {
  return is_open_ && other.is_open_ && device_ == other.device_ && inode_ == other.inode_;
}

}  // namespace muster
