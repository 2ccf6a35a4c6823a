// The life of a node's PMIx service during one attempt, as one table. Pure: it is told what
// happened and says what to do; pmix_session.h does it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::mpi {

/// In the order of life.
enum class PmixState {
  kMapping,   ///< the nodes tell each other how many ranks each has
  kStarting,  ///< the server is told about the job
  kServing,   ///< ranks run
  kInVain,    ///< what ranks wait for will never come, and they are being ended
};
inline constexpr size_t kPmixStates = static_cast<size_t>(PmixState::kInVain) + 1;

enum class PmixEvent {
  kMapped,  ///< all nodes have told
  kReady,   ///< the server serves
  kBroken,  ///< the server or an exchange failed, or a rank is missing for good
};
inline constexpr size_t kPmixEvents = static_cast<size_t>(PmixEvent::kBroken) + 1;

enum class PmixAction {
  kNothing,
  kBegin,    ///< tell the server about the job
  kRelease,  ///< give the ranks their environment
  kEndRanks,
  kBug,  ///< this pair cannot happen
};

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(PmixState state);
[[nodiscard]] std::string_view to_string(PmixEvent event);

using PmixTransition = Transition<PmixState, PmixEvent, PmixAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const PmixTransition> pmix_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const PmixTransition& transition(PmixState state, PmixEvent event);

}  // namespace muster::mpi
