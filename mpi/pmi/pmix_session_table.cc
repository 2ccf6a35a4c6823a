#include "mpi/pmi/pmix_session_table.h"

#include <array>

#include "base/check.h"

namespace muster::mpi {

namespace {

using enum PmixState;
using enum PmixEvent;
using enum PmixAction;

// The server is a process of its own: what it says out of turn is ignored, never a bug of ours.
constexpr std::string_view kOutOfTurn = "the server says so once";
constexpr std::string_view kOnce = "the nodes tell once, at the beginning";
constexpr std::string_view kToldOnce = "the ranks are being ended already";

// clang-format off: a row is a line.
struct Life : LifeCycle<PmixState, PmixEvent, PmixAction> {
  static constexpr std::array kTable{
      go(kMapping, kMapped, kStarting, kBegin),
      ignore(kMapping, kReady, kOutOfTurn),
      go(kMapping, kBroken, kInVain, kEndRanks),

      bug(kStarting, kMapped, kOnce),
      go(kStarting, kReady, kServing, kRelease),
      go(kStarting, kBroken, kInVain, kEndRanks),

      bug(kServing, kMapped, kOnce),
      ignore(kServing, kReady, kOutOfTurn),
      go(kServing, kBroken, kInVain, kEndRanks),

      ignore(kInVain, kMapped, kToldOnce),
      ignore(kInVain, kReady, kToldOnce),
      ignore(kInVain, kBroken, kToldOnce),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kInVain, kBroken),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(PmixState state) {
  switch (state) {
    case kMapping:
      return "Mapping";
    case kStarting:
      return "Starting";
    case kServing:
      return "Serving";
    case kInVain:
      return "InVain";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(PmixEvent event) {
  switch (event) {
    case kMapped:
      return "Mapped";
    case kReady:
      return "Ready";
    case kBroken:
      return "Broken";
  }
  MUSTER_CHECK(false);
}

std::span<const PmixTransition> pmix_transitions() { return Life::kTable; }

const PmixTransition& transition(PmixState state, PmixEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::mpi
