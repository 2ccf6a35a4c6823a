// UniqueFd: the one owner of a file descriptor. Every descriptor in the program is close-on-exec.
#pragma once

#include <utility>

#include "base/result.h"

namespace muster {

/// Closes its descriptor when it goes out of scope. Move-only. Deliberately without conversion to
/// bool or int: fd 0 is valid, and a bare int has no owner.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  /// The descriptor, borrowed; -1 when none is held.
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Closes now. Idempotent. An error of close(2) is ignored: the descriptor is gone either way
  /// (Linux).
  void reset();
  /// Gives up ownership.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

/// A pipe, both ends close-on-exec and blocking. kOs: no descriptors left.
Result<Pipe> make_pipe();

/// The same as a terminal with the settings of `like`, which is one: a program that is started
/// there writes as it would in `like`. What is read after its last writer is gone is EIO. kOs.
Result<Pipe> make_terminal(int like);

/// /dev/null, for reading or for writing (O_RDONLY, O_WRONLY). kOs.
Result<UniqueFd> open_null_device(int access);

/// Switches O_NONBLOCK on. It belongs to the open file description, so never call it on an
/// inherited fd.
Status set_nonblocking(int fd);

/// Raises the soft RLIMIT_NOFILE to the hard one. Returns the limit now in force.
Result<unsigned long> raise_fd_limit();

}  // namespace muster
