#include "launcher/sidecar/stdout_target.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace muster::launcher {

namespace {

constexpr Duration kRetry = std::chrono::milliseconds(50);
// Of one turn of the loop.
constexpr int kWritesATurn = 64;

// It is somebody else's as well, so it is not made non-blocking. A pipe that poll(2) calls writable
// takes PIPE_BUF bytes at once; a file always does.
bool takes_more(int fd) {
  pollfd wanted{fd, POLLOUT, 0};
  return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace

void StdoutTarget::begin(const JournalMark& /*told*/, Settled settled) {
  settled_ = std::move(settled);
}

void StdoutTarget::take(JournalEvent event) { queue_.push(std::move(event)); }

void StdoutTarget::caught_up() {
  if (!later_.is_active()) write();
}

void StdoutTarget::write() {
  JournalMark settled;
  for (int i = 0; i < kWritesATurn && !is_idle() && takes_more(fd_); ++i) {
    if (line_.empty()) {
      (void)queue_.take_body(1);  // one event
      JournalEvent event = std::move(queue_.pop().front());
      mark_ = event.mark;
      line_ = std::move(event.line) + "\n";
    }
    const size_t piece = std::min(line_.size(), static_cast<size_t>(PIPE_BUF));
    const ssize_t written = ::write(fd_, line_.data(), piece);
    if (written < 0) break;  // nobody reads any more, or the disk is full: it may be there later
    line_.erase(0, static_cast<size_t>(written));
    if (line_.empty()) settled = mark_;
  }
  if (!is_idle()) {
    const bool at_once = settled.seq > 0;
    later_ = at_once ? loop_.soon([this] { write(); }) : loop_.after(kRetry, [this] { write(); });
  }
  if (settled.seq > 0) settled_(settled);
}

}  // namespace muster::launcher
