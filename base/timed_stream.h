// TimedStream: a connection that is read and written in turn, each step with a deadline. For small
// programs that do one thing, such as a probe in a child process; agents have a loop (base/loop.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster {

class TimedStream {
 public:
  /// Errors: kTimeout, kPeer; the text names `peer`.
  static Result<TimedStream> connect(const Address& peer, TimePoint deadline);
  /// The next one that calls at `listener`. kTimeout, kOs.
  static Result<TimedStream> accept(int listener, TimePoint deadline);

  /// All of it. kTimeout, kPeer.
  Status write(std::string_view bytes, TimePoint deadline);
  /// As many bytes as there is room for. kTimeout; kPeer, also if it ends before.
  Status read(std::span<char> into, TimePoint deadline);
  /// What is there, at least one byte; how many. kTimeout, kPeer.
  Result<size_t> read_some(std::span<char> into, TimePoint deadline);
  /// `count` bytes, for small answers.
  Result<std::string> read(size_t count, TimePoint deadline);

  /// Of this end, which tells the interface. kOs.
  [[nodiscard]] Result<Address> local_address() const;

 private:
  TimedStream(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  [[nodiscard]] Error lost(std::string_view what) const;
  [[nodiscard]] Error late(std::string_view what) const;

  UniqueFd fd_;
  std::string peer_;
};

}  // namespace muster
