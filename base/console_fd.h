// ConsoleFd: our inherited stdout or stderr, written to without ever blocking and without changing
// what we share with whoever started us. Only system calls; queues and decisions are sink.h's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "base/fd.h"

namespace muster {

/// What a flood asks for: the reader is switched to and from less often.
inline constexpr int kGrownConsoleBytes = 1024 * 1024;

/// The flags of an inherited descriptor belong to its open file description, which the shell, the
/// container runtime or a sibling shares: O_NONBLOCK there breaks *their* reads and writes. So
/// pipes and terminals are opened anew through /proc, sockets take the flag per call, and
/// everything else (regular files, /dev/null) is just written: such a write waits for the disk at
/// most.
class ConsoleFd {
 public:
  enum class Kind {
    kReopened,  ///< a pipe or terminal of our own, non-blocking
    kPolled,    ///< a pipe or terminal that could not be reopened (owned by another uid, no /proc):
                ///< asked before every write of at most PIPE_BUF, which a pipe then takes whole
    kSocket,
    kPlain,  ///< cannot be waited for
  };

  /// `fd` is borrowed for the life of this object; a closed one is accepted and fails when written
  /// to. `may_reopen` false: as if /proc were not there (for tests).
  explicit ConsoleFd(int fd, bool may_reopen = true);

  struct Written {
    size_t bytes = 0;
    int os_errno = 0;  ///< 0 = all of it was taken; EAGAIN = no more is taken now
  };
  /// Writes as much of `bytes` as is taken without waiting. A pipe without reader is EPIPE (SIGPIPE
  /// must be ignored), a closed descriptor EBADF.
  Written write(std::string_view bytes);

  /// Asks for kGrownConsoleBytes of room in a pipe, once: for a flood that fills it again and
  /// again.
  void grow_pipe();

  /// The descriptor to wait for; may be refused by epoll when kind() is kPlain.
  [[nodiscard]] int fd() const { return own_.is_open() ? own_.get() : inherited_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  /// Both write to one pipe, terminal or file (2>&1), so that their lines must share one queue.
  [[nodiscard]] bool same_object(const ConsoleFd& other) const;

 private:
  Written write_polled(std::string_view bytes) const;
  Written write_plain(std::string_view bytes) const;

  int inherited_;
  UniqueFd own_;
  Kind kind_ = Kind::kPlain;
  bool is_terminal_ = false;
  bool is_open_ = false;
  bool asked_for_room_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace muster
