// The life of one round of an MPI job as its agent sees it, as one table. Pure: it is told what
// happened and says what to do; mpi_job.h does it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::mpi {

/// In the order of life.
enum class MpiRoundState {
  kIdle,       ///< no round, or one that is over
  kBegun,      ///< nothing has failed; nodes without the launcher leave it only by a failure
  kHanging,    ///< all ranks ended well, the launcher did not, and is being killed
  kFailed,     ///< something failed and was told; what follows is its consequence
  kSucceeded,  ///< the launcher ended, and nothing speaks against its ranks
};
inline constexpr size_t kMpiRoundStates = static_cast<size_t>(MpiRoundState::kSucceeded) + 1;

enum class MpiRoundEvent {
  kBegin,           ///< the next round
  kFailure,         ///< of a rank, a daemon, or the launcher's word against what is known
  kHang,            ///< the launcher is still there long after its ranks
  kEndedWell,       ///< the launcher said 0 and nothing speaks against it
  kEndedOtherwise,  ///< it said something else, or this node has none
};
inline constexpr size_t kMpiRoundEvents = static_cast<size_t>(MpiRoundEvent::kEndedOtherwise) + 1;

enum class MpiRoundAction {
  kNothing,
  kTellFailure,  ///< to the job; the launcher is given a moment to end by itself
  kKillLauncher,
  kBug,  ///< this pair cannot happen
};

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(MpiRoundState state);
[[nodiscard]] std::string_view to_string(MpiRoundEvent event);

using MpiRoundTransition = Transition<MpiRoundState, MpiRoundEvent, MpiRoundAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const MpiRoundTransition> mpi_round_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const MpiRoundTransition& transition(MpiRoundState state, MpiRoundEvent event);

}  // namespace muster::mpi
