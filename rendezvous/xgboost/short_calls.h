// ShortCalls: connections that say a few bytes and end, best effort: to the error ports of workers,
// that another one has failed; to the tracker, how a worker of this node has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"

namespace muster::rendezvous {

/// At a time; the others follow.
inline constexpr size_t kMaxShortCalls = 64;
/// One that does not answer by then is given up.
inline constexpr Duration kShortCallTime = std::chrono::seconds(3);

class ShortCalls {
 public:
  /// Both are borrowed.
  ShortCalls(Loop& loop, Network& network) : loop_(loop), network_(network) {}
  ShortCalls(const ShortCalls&) = delete;
  ShortCalls& operator=(const ShortCalls&) = delete;

  /// Dials it now or later, and sends `bytes`, which fit into any send buffer.
  void say(Address to, std::string bytes);
  /// What is not told yet, is not told any more.
  void cancel();

 private:
  struct Word {
    Address to;
    std::string bytes;
  };
  struct Call {
    std::string bytes;
    UniqueFd fd;
    Watch watch;  // after fd: unregistered before it is closed
    Timer deadline;
  };
  void dial_next();
  void on_writable(uint64_t number);

  Loop& loop_;
  Network& network_;
  std::deque<Word> waiting_;
  std::map<uint64_t, Call> calls_;
  uint64_t next_number_ = 1;
};

}  // namespace muster::rendezvous
