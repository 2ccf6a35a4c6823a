// What a member knows of one candidate for the leader, and its link to it. Part of the inside of
// Member; included by member_core.h alone.
#pragma once

#include <string>

#include "base/clock.h"
#include "rendezvous/takeover.h"

namespace muster::rendezvous {

/// The one link to a candidate.
enum class CandidateLink { kDown, kDialling, kGreeted, kJoined };

struct CandidateState {
  CandidateLink link = CandidateLink::kDown;
  CandidateView view = CandidateView::kUnasked;
  TimePoint seen;       ///< last sign of life, or when asking began
  TimePoint dial_at;    ///< next dial, while the link is down
  TimePoint answer_by;  ///< while greeted: Welcome or Refuse
  Duration retry{};
  std::string problem;  ///< the last one, for messages
};

}  // namespace muster::rendezvous
