// Names of the events that leader and member report; the launcher logs them with the reason as the
// field `reason` (list: docs/reference/events.md).
#pragma once

#include <string_view>

namespace muster::rendezvous {

inline constexpr std::string_view kEventEtcdDeposed = "etcd.deposed";
inline constexpr std::string_view kEventEtcdElected = "etcd.elected";
inline constexpr std::string_view kEventEtcdLost = "etcd.lost";
inline constexpr std::string_view kEventEtcdState = "etcd.state";
inline constexpr std::string_view kEventEtcdTrouble = "etcd.trouble";
inline constexpr std::string_view kEventJobAsked = "job.asked";
inline constexpr std::string_view kEventJobSettings = "job.settings";
inline constexpr std::string_view kEventJobSize = "job.size";
inline constexpr std::string_view kEventLeaderAwaited = "leader.awaited";
inline constexpr std::string_view kEventLeaderBegin = "leader.begin";
inline constexpr std::string_view kEventLeaderEnd = "leader.end";
inline constexpr std::string_view kEventLeaderFound = "leader.found";
inline constexpr std::string_view kEventLeaderLost = "leader.lost";
inline constexpr std::string_view kEventLeaderRefused = "leader.refused";
inline constexpr std::string_view kEventLeaderState = "leader.state";
inline constexpr std::string_view kEventLeaderTakeOver = "leader.take_over";
inline constexpr std::string_view kEventLeaderUnusable = "leader.unusable";
inline constexpr std::string_view kEventMemberFenced = "member.fenced";
inline constexpr std::string_view kEventMemberState = "member.state";
inline constexpr std::string_view kEventNodeBack = "node.back";
inline constexpr std::string_view kEventNodeJoined = "node.joined";
inline constexpr std::string_view kEventNodeLeaving = "node.leaving";
inline constexpr std::string_view kEventNodeLost = "node.lost";
inline constexpr std::string_view kEventNodeRefused = "node.refused";
inline constexpr std::string_view kEventNodeSameName = "node.same_name";
inline constexpr std::string_view kEventNodeSurplus = "node.surplus";
inline constexpr std::string_view kEventNodeSuspect = "node.suspect";
inline constexpr std::string_view kEventNodeUnfit = "node.unfit";
inline constexpr std::string_view kEventQuorumMissing = "quorum.missing";
inline constexpr std::string_view kEventRoundBroken = "round.broken";
inline constexpr std::string_view kEventRoundFormed = "round.formed";
inline constexpr std::string_view kEventRoundGrowth = "round.growth";
inline constexpr std::string_view kEventRoundRunning = "round.running";
inline constexpr std::string_view kEventRoundSaving = "round.saving";
inline constexpr std::string_view kEventRoundVerdict = "round.verdict";
inline constexpr std::string_view kEventRoundWaiting = "round.waiting";

}  // namespace muster::rendezvous
