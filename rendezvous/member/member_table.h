// The life of an agent in the job as one table. Pure; driven by member.h. The words are those of
// the log and of `muster status`.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::rendezvous {

/// In the order of life. The link to the leader may be lost and found again in every state from
/// Spare on; only Seeking has nothing else to do.
enum class MemberState {
  kSeeking,   ///< no leader; none of our workers is alive
  kJoining,   ///< known to the leader, no worker alive: no round yet, or ours succeeded in it
  kSpare,     ///< not needed in the round that runs
  kChecking,  ///< ranks are known; what workers need is being prepared
  kStarting,  ///< workers are being spawned
  kRunning,   ///< all were started; some or all may have succeeded
  kStopping,  ///< workers are being stopped or killed
  kExiting,   ///< nothing follows
};
inline constexpr size_t kMemberStates = static_cast<size_t>(MemberState::kExiting) + 1;

enum class MemberEvent {
  kWelcomed,       ///< a leader took us in
  kLinkLost,       ///< the connection to it ended
  kWait,           ///< leader: no round for you yet
  kPark,           ///< leader: you are a spare
  kAssigned,       ///< leader: your ranks
  kPrepared,       ///< what workers need is there
  kStarted,        ///< every worker was spawned
  kFailed,         ///< a worker failed, or nothing could be prepared; its group stops by itself
  kSucceeded,      ///< all our workers exited 0, nothing of them is left
  kStopOrdered,    ///< leader: stop
  kFenced,         ///< the lease ended, or leader: kill
  kGone,           ///< no worker, no descendant of one is left
  kFinishOrdered,  ///< leader: the job is over
  kGiveUp,         ///< join timeout, or refused for good
  kAbandon,        ///< told to go, and its time is over
};
inline constexpr size_t kMemberEvents = static_cast<size_t>(MemberEvent::kAbandon) + 1;

enum class MemberAction {
  kNothing,
  kAsk,      ///< dial the candidates
  kPrepare,  ///< prepare the round
  kStart,    ///< start the workers
  kReport,   ///< tell the leader what happened
  kStop,     ///< stop the workers with grace
  kKill,     ///< kill them now
  kRejoin,   ///< tell that nothing is alive, wait for the next round
  kExit,
  kBug,
};

[[nodiscard]] std::string_view to_string(MemberState state);
[[nodiscard]] std::string_view to_string(MemberEvent event);
[[nodiscard]] std::string_view to_string(MemberAction action);

using MemberTransition = Transition<MemberState, MemberEvent, MemberAction>;
[[nodiscard]] std::span<const MemberTransition> member_transitions();
[[nodiscard]] const MemberTransition& transition(MemberState state, MemberEvent event);

}  // namespace muster::rendezvous
