// What a Loop (base/loop.h) gives out: registrations of descriptors and timers, which end with
// these objects. Not for inclusion alone: loop.h includes it.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace muster {

class Loop;
struct Watched;  // what the loop keeps of a registration: loop.cc

/// What a watched descriptor is ready for. Hang-up and error count as readable *and* writable: the
/// next read or write tells which it is.
struct Ready {
  bool readable = false;
  bool writable = false;
};

/// What to wait for. kNothing keeps the registration (and still reports hang-ups).
enum class Interest : uint32_t {
  kNothing = 0,
  kRead = EPOLLIN,
  kWrite = EPOLLOUT,
  kReadWrite = EPOLLIN | EPOLLOUT,
};

/// A registration of a descriptor. Its destructor unregisters; destroy it before the descriptor is
/// closed.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch() { reset(); }
  void reset();
  [[nodiscard]] bool is_active() const { return loop_ != nullptr; }
  /// Changes what is waited for. A system call only when it differs.
  void set_interest(Interest interest);

 private:
  friend class Loop;
  Watch(Loop* loop, Watched* watched) : loop_(loop), watched_(watched) {}
  Loop* loop_ = nullptr;
  Watched* watched_ = nullptr;  // ours until it is given back to the loop
};

/// A timer that has not fired. Its destructor cancels; after it fired, is_active() is false.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept;
  Timer& operator=(Timer&& other) noexcept;
  ~Timer() { reset(); }
  void reset();
  [[nodiscard]] bool is_active() const;

 private:
  friend class Loop;
  using Key = std::pair<TimePoint, uint64_t>;
  Timer(Loop* loop, Key key) : loop_(loop), key_(key) {}
  Loop* loop_ = nullptr;
  Key key_;
};

}  // namespace muster
