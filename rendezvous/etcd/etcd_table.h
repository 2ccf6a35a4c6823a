// The life of an agent's part in an election through etcd as one table. Pure; driven by
// etcd_election.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::rendezvous {

/// In the order of life.
enum class EtcdState {
  kIdle,         ///< nothing is asked: another leads, or nobody wants to know
  kAsking,       ///< who leads?
  kCampaigning,  ///< nobody did: we try to be the one
  kLeading,      ///< the key is ours; its lease is being kept alive
  kResigning,    ///< our lease is being given back
  kClosing,      ///< the same, or a campaign's, and nothing follows
  kClosed,
};
inline constexpr size_t kEtcdStates = static_cast<size_t>(EtcdState::kClosed) + 1;

enum class EtcdEvent {
  kSeek,      ///< the member wants the leader
  kVacant,    ///< etcd: nobody leads, and we may
  kNamed,     ///< etcd: this agent leads
  kRefuted,   ///< etcd: this agent leads; but it was our leader and its machine refuses connections
  kWon,       ///< the key is ours
  kFailed,    ///< no answer, or none that helps
  kExpired,   ///< the lease may be over, or etcd says that it is
  kStepDown,  ///< the leader in this process ended
  kResigned,  ///< what was ours is gone
  kEnd,       ///< this agent ends
};
inline constexpr size_t kEtcdEvents = static_cast<size_t>(EtcdEvent::kEnd) + 1;

enum class EtcdAction {
  kNothing,
  kAsk,       ///< read the leader's key
  kCampaign,  ///< lease, claim, mark
  kFollow,    ///< tell the member whom to dial
  kDepose,    ///< end the dead leader's lease; the member asks again
  kLead,      ///< tell the member that this agent leads
  kGiveUp,    ///< tell the member that nothing was found; it asks again
  kStop,      ///< the leader here ends at once; then as kResign
  kResign,    ///< give our lease back
  kWithdraw,  ///< the same with whatever the campaign got so far
  kClose,
  kBug,
};

[[nodiscard]] std::string_view to_string(EtcdState state);
[[nodiscard]] std::string_view to_string(EtcdEvent event);
[[nodiscard]] std::string_view to_string(EtcdAction action);

using EtcdTransition = Transition<EtcdState, EtcdEvent, EtcdAction>;
[[nodiscard]] std::span<const EtcdTransition> etcd_transitions();
[[nodiscard]] const EtcdTransition& transition(EtcdState state, EtcdEvent event);

}  // namespace muster::rendezvous
