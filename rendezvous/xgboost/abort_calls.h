// AbortCalls: tells workers of XGBoost 2.1 and newer, each at its error port, that another worker
// has failed. They then end at once, also from within a collective. Best effort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"

namespace muster::rendezvous {

/// At a time; the others follow.
inline constexpr size_t kMaxAbortCalls = 64;
/// One that does not answer by then is given up.
inline constexpr Duration kAbortCallTime = std::chrono::seconds(3);

class AbortCalls {
 public:
  /// Both are borrowed.
  AbortCalls(Loop& loop, Network& network) : loop_(loop), network_(network) {}
  AbortCalls(const AbortCalls&) = delete;
  AbortCalls& operator=(const AbortCalls&) = delete;

  /// Dials it now or later.
  void add(Address error_port);
  /// What is not told yet, is not told any more.
  void cancel();

 private:
  struct Call {
    UniqueFd fd;
    Watch watch;  // after fd: unregistered before it is closed
    Timer deadline;
  };
  void dial_next();
  void on_writable(uint64_t number);

  Loop& loop_;
  Network& network_;
  std::deque<Address> waiting_;
  std::map<uint64_t, Call> calls_;
  uint64_t next_number_ = 1;
};

}  // namespace muster::rendezvous
