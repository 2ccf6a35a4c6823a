// RshDrain: how the commands of other nodes end on a node that is told to leave. The job knows that
// it leaves, so the launcher that started them may end them first. Then they get SIGTERM, and what
// is left is killed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "base/life_cycle.h"
#include "base/loop.h"

namespace muster::mpi {

/// In the order of life.
enum class DrainState {
  kIdle,         ///< nothing was begun
  kAwaiting,     ///< the commands may end by themselves
  kTerminating,  ///< they got SIGTERM
  kDone,         ///< what is left is killed
};
inline constexpr size_t kDrainStates = static_cast<size_t>(DrainState::kDone) + 1;

enum class DrainEvent {
  kBegin,
  kAllEnded,  ///< no command is left
  kTimeOver,  ///< half of the grace
  kHurry,     ///< told to go again
};
inline constexpr size_t kDrainEvents = static_cast<size_t>(DrainEvent::kHurry) + 1;

enum class DrainAction { kNothing, kAwait, kTerminate, kFinish, kBug };

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(DrainState state);
[[nodiscard]] std::string_view to_string(DrainEvent event);

using DrainTransition = Transition<DrainState, DrainEvent, DrainAction>;
/// Every pair once, by state, then event.
[[nodiscard]] std::span<const DrainTransition> drain_transitions();
[[nodiscard]] const DrainTransition& transition(DrainState state, DrainEvent event);

class RshDrain {
 public:
  /// `loop` is borrowed. `terminate` sends SIGTERM to all commands.
  RshDrain(Loop& loop, std::function<void()> terminate)
      : loop_(loop), terminate_(std::move(terminate)) {}

  /// Once. Half of `grace` for each of the two waits. `done` comes from the loop or from the calls
  /// below.
  void begin(Duration grace, std::function<void()> done);
  void all_ended() { handle(DrainEvent::kAllEnded); }
  void hurry() { handle(DrainEvent::kHurry); }
  [[nodiscard]] DrainState state() const { return state_; }

 private:
  void handle(DrainEvent event);
  void wait();

  Loop& loop_;
  std::function<void()> terminate_;
  std::function<void()> done_;
  Duration grace_{};
  DrainState state_ = DrainState::kIdle;
  Timer timer_;
};

}  // namespace muster::mpi
