// Loop: the one event loop of a process, epoll with callbacks. It knows descriptors and timers; it
// does not own descriptors and knows nothing of what they carry.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop_handles.h"
#include "base/result.h"

namespace muster {

/// Single-threaded. A turn: wait, fix now(), ready descriptors, then due timers in order of time. A
/// callback may register and reset anything, but must not destroy the object whose method is
/// running (soon() may). The loop must outlive every Watch and Timer it gave out.
class Loop {
 public:
  /// `clock` is borrowed for the life of the loop. kOs: no epoll instance to be had.
  static Result<std::unique_ptr<Loop>> create(const Clock& clock);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  /// Time of the current turn; stands still while callbacks run.
  [[nodiscard]] TimePoint now() const { return now_; }
  /// Reads the clock again. For the start of the program, before the first turn.
  void refresh_now() { now_ = clock_.now(); }

  /// Calls `ready` whenever `fd` (borrowed, must be pollable: not a regular file) is ready for
  /// `interest`. Level triggered: what is left unread is reported again in the next turn. kOs:
  /// epoll refused.
  Result<Watch> watch(int fd, Interest interest, std::function<void(Ready)> ready);

  /// Calls `fire` once, in the first turn that begins at or after `when`. A time that has come
  /// already counts as now(): as soon(). O(1) for these, O(log n) for others.
  [[nodiscard]] Timer at(TimePoint when, std::function<void()> fire);
  [[nodiscard]] Timer after(Duration delay, std::function<void()> fire) {
    return at(now_ + delay, std::move(fire));
  }

  /// Calls `fire` once: at the end of this turn when a descriptor's callback asks, in the next turn
  /// when a timer's does; in the order of the calls, after the timers of earlier times. The place
  /// to write answers once per turn and to destroy what a callback may not. O(1).
  [[nodiscard]] Timer soon(std::function<void()> fire) { return at(now_, std::move(fire)); }

  /// Turns until stop(). kOs: epoll_wait failed.
  Status run();
  /// Turns without waiting until nothing is ready or due. For tests with a FakeClock.
  Status run_until_idle();
  /// Ends run() after the current turn.
  void stop() { stopping_ = true; }

 private:
  friend class Watch;
  friend class Timer;
  struct Due {
    Timer::Key key;
    std::function<void()> fire;  // empty = cancelled
  };

  Loop(const Clock& clock, UniqueFd epoll);
  Result<bool> turn(bool may_wait);
  int wait_timeout_ms(bool may_wait) const;
  bool fire_due_timers();
  std::function<void()> next_due(uint64_t first_new_id);
  Due* find_due(const Timer::Key& key);
  void cancel(const Timer::Key& key);
  void unwatch(Watched* watched);
  void set_interest(Watched& watched, Interest interest);

  const Clock& clock_;
  UniqueFd epoll_;
  TimePoint now_;
  bool stopping_ = false;
  uint64_t next_id_ = 1;
  std::vector<std::unique_ptr<Watched>>
      retired_;  // removed in this turn; their callback may be on the stack
  std::map<Timer::Key, std::function<void()>> timers_;  // of times to come
  std::deque<Due> due_;  // set for the turn they were set in, in order: most wait for its end only
};

}  // namespace muster
