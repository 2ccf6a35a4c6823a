// Strangers: the connections of those who have proved nothing yet, at one port. What they hold
// together is bounded, so that it does not come out of what the job needs. When there is no place
// left, the oldest of them goes: whoever belongs to the job proves it at once.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/line_budget.h"
#include "base/loop.h"

namespace muster {

/// Of those that this process may have (RLIMIT_NOFILE).
[[nodiscard]] size_t quarter_of_descriptors();

/// At a time: a quarter of the descriptors, but at least this, and not more than that. What each of
/// them can make us keep is some 16 KiB.
inline constexpr size_t kLeastStrangers = 16;
inline constexpr size_t kMostStrangers = 4096;
[[nodiscard]] size_t strangers_allowed();

class Strangers {
  struct State;

 public:
  /// One connection's; that of nobody if it was made by itself. The end of a place is no end of the
  /// connection.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept;
    Place& operator=(Place&& other) noexcept;
    ~Place() { leave(); }

    /// `drop` is called from the loop, with a reason, if the place goes to another: it must close
    /// the connection and leave(). Before that is set, or without it, it stays.
    void on_drop(std::function<void(const std::string& reason)> drop);
    /// It has proved who it is, or it is gone.
    void leave();
    /// For a log line about it: as LineBudget::take() for all strangers together. Who has left is
    /// no stranger.
    [[nodiscard]] std::optional<int> take_line() const;

   private:
    friend class Strangers;
    using Drop = std::function<void(const std::string& reason)>;
    std::weak_ptr<State> state_;  // whose place it is may outlive the port
    std::list<Drop>::iterator at_;
  };

  /// `loop` is borrowed, for its time. At most `most` at a time.
  explicit Strangers(const Loop& loop, size_t most = strangers_allowed());
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  /// A place for one more; the oldest that can be dropped is.
  [[nodiscard]] Place enter();
  [[nodiscard]] size_t size() const { return state_->drops.size(); }
  [[nodiscard]] LineBudget& lines() { return state_->lines; }

 private:
  struct State {
    std::list<Place::Drop> drops;  // the oldest first
    LineBudget lines;
  };
  void drop_oldest();

  const size_t most_;
  std::shared_ptr<State> state_;
};

/// A connection that has come to a port, and what was read from it already.
struct Arrival {
  UniqueFd connection;
  std::string first_bytes;
  Strangers::Place place = {};
};

}  // namespace muster
