#include "mpi/ranks/mpi_round_table.h"

#include <array>

#include "base/check.h"

namespace muster::mpi {

namespace {

using enum MpiRoundState;
using enum MpiRoundEvent;
using enum MpiRoundAction;

constexpr std::string_view kNextRound = "what is left of the round before counts no more";
constexpr std::string_view kToldOnce = "the first failure was told; this is its consequence";
constexpr std::string_view kNotWatched = "the launcher is watched while ranks may still be there";
constexpr std::string_view kGroupSaysIt = "how its process ended is told by its group";
constexpr std::string_view kEndsOnce = "a launcher ends once in a round";

// clang-format off: a row is a line.
struct Life : LifeCycle<MpiRoundState, MpiRoundEvent, MpiRoundAction> {
  static constexpr std::array kTable{
      note(kIdle, kBegin, kBegun, kNextRound),
      ignore(kIdle, kFailure, "what ends after its round is no failure"),
      bug(kIdle, kHang, kNotWatched),
      bug(kIdle, kEndedWell, kEndsOnce),
      ignore(kIdle, kEndedOtherwise, "a round that could not be begun"),

      note(kBegun, kBegin, kBegun, kNextRound),
      go(kBegun, kFailure, kFailed, kTellFailure),
      go(kBegun, kHang, kHanging, kKillLauncher),
      note(kBegun, kEndedWell, kSucceeded, "as it should be"),
      note(kBegun, kEndedOtherwise, kIdle, kGroupSaysIt),

      note(kHanging, kBegin, kBegun, kNextRound),
      go(kHanging, kFailure, kFailed, kTellFailure),
      bug(kHanging, kHang, kNotWatched),
      note(kHanging, kEndedWell, kSucceeded, "it ended just before it was killed"),
      note(kHanging, kEndedOtherwise, kSucceeded, "by our SIGKILL, after the success of its ranks"),

      note(kFailed, kBegin, kBegun, kNextRound),
      ignore(kFailed, kFailure, kToldOnce),
      bug(kFailed, kHang, kNotWatched),
      ignore(kFailed, kEndedWell, "a 0 from the launcher undoes no failure"),
      ignore(kFailed, kEndedOtherwise, kToldOnce),

      note(kSucceeded, kBegin, kBegun, kNextRound),
      ignore(kSucceeded, kFailure, "the launcher's end was judged with all that was known"),
      bug(kSucceeded, kHang, kNotWatched),
      bug(kSucceeded, kEndedWell, kEndsOnce),
      bug(kSucceeded, kEndedOtherwise, kEndsOnce),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kSucceeded, kEndedOtherwise),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(MpiRoundState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kBegun:
      return "Begun";
    case kHanging:
      return "Hanging";
    case kFailed:
      return "Failed";
    case kSucceeded:
      return "Succeeded";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(MpiRoundEvent event) {
  switch (event) {
    case kBegin:
      return "Begin";
    case kFailure:
      return "Failure";
    case kHang:
      return "Hang";
    case kEndedWell:
      return "EndedWell";
    case kEndedOtherwise:
      return "EndedOtherwise";
  }
  MUSTER_CHECK(false);
}

std::span<const MpiRoundTransition> mpi_round_transitions() { return Life::kTable; }

const MpiRoundTransition& transition(MpiRoundState state, MpiRoundEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::mpi
