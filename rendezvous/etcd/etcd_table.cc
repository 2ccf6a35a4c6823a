#include "rendezvous/etcd/etcd_table.h"

#include <array>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

using enum EtcdState;
using enum EtcdEvent;
using enum EtcdAction;

constexpr std::string_view kNotAsked = "no such question is under way";
constexpr std::string_view kOnItsWay = "the answer is on its way";
constexpr std::string_view kNotOurs = "we do not lead";
constexpr std::string_view kNoLease = "the lease is not ours yet";
constexpr std::string_view kGoing = "it is being given back";
constexpr std::string_view kOver = "nothing follows";

// clang-format off: a row is a line.
struct Life : LifeCycle<EtcdState, EtcdEvent, EtcdAction> {
  static constexpr std::array kTable{
      go(kIdle, kSeek, kAsking, kAsk),
      bug(kIdle, kVacant, kNotAsked),
      bug(kIdle, kNamed, kNotAsked),
      bug(kIdle, kRefuted, kNotAsked),
      bug(kIdle, kWon, kNotAsked),
      bug(kIdle, kFailed, kNotAsked),
      bug(kIdle, kExpired, kNotOurs),
      ignore(kIdle, kStepDown, kNotOurs),
      bug(kIdle, kResigned, kNotAsked),
      go(kIdle, kEnd, kClosed, kClose),

      ignore(kAsking, kSeek, kOnItsWay),
      go(kAsking, kVacant, kCampaigning, kCampaign),
      go(kAsking, kNamed, kIdle, kFollow),
      go(kAsking, kRefuted, kIdle, kDepose),
      bug(kAsking, kWon, kNotAsked),
      go(kAsking, kFailed, kIdle, kGiveUp),
      bug(kAsking, kExpired, kNotOurs),
      ignore(kAsking, kStepDown, kNotOurs),
      bug(kAsking, kResigned, kNotAsked),
      go(kAsking, kEnd, kClosed, kClose),

      ignore(kCampaigning, kSeek, kOnItsWay),
      bug(kCampaigning, kVacant, kNotAsked),
      go(kCampaigning, kNamed, kIdle, kFollow),
      go(kCampaigning, kRefuted, kIdle, kDepose),
      go(kCampaigning, kWon, kLeading, kLead),
      go(kCampaigning, kFailed, kIdle, kGiveUp),
      bug(kCampaigning, kExpired, kNoLease),
      ignore(kCampaigning, kStepDown, kNotOurs),
      bug(kCampaigning, kResigned, kNotAsked),
      go(kCampaigning, kEnd, kClosing, kWithdraw),

      go(kLeading, kSeek, kLeading, kGiveUp),
      bug(kLeading, kVacant, kNotAsked),
      bug(kLeading, kNamed, kNotAsked),
      bug(kLeading, kRefuted, kNotAsked),
      bug(kLeading, kWon, kNotAsked),
      ignore(kLeading, kFailed, "it is tried again, and the lease decides"),
      go(kLeading, kExpired, kResigning, kStop),
      go(kLeading, kStepDown, kResigning, kResign),
      bug(kLeading, kResigned, kNotAsked),
      go(kLeading, kEnd, kClosing, kResign),

      go(kResigning, kSeek, kResigning, kGiveUp),
      bug(kResigning, kVacant, kNotAsked),
      bug(kResigning, kNamed, kNotAsked),
      bug(kResigning, kRefuted, kNotAsked),
      bug(kResigning, kWon, kNotAsked),
      note(kResigning, kFailed, kIdle, "the lease ends by itself"),
      ignore(kResigning, kExpired, kGoing),
      ignore(kResigning, kStepDown, kGoing),
      note(kResigning, kResigned, kIdle, "nothing of ours is left"),
      note(kResigning, kEnd, kClosing, kGoing),

      ignore(kClosing, kSeek, kOver),
      bug(kClosing, kVacant, kNotAsked),
      bug(kClosing, kNamed, kNotAsked),
      bug(kClosing, kRefuted, kNotAsked),
      bug(kClosing, kWon, kNotAsked),
      go(kClosing, kFailed, kClosed, kClose),
      ignore(kClosing, kExpired, kGoing),
      ignore(kClosing, kStepDown, kGoing),
      go(kClosing, kResigned, kClosed, kClose),
      ignore(kClosing, kEnd, kGoing),

      ignore(kClosed, kSeek, kOver),
      bug(kClosed, kVacant, kNotAsked),
      bug(kClosed, kNamed, kNotAsked),
      bug(kClosed, kRefuted, kNotAsked),
      bug(kClosed, kWon, kNotAsked),
      bug(kClosed, kFailed, kNotAsked),
      bug(kClosed, kExpired, kNotOurs),
      ignore(kClosed, kStepDown, kOver),
      bug(kClosed, kResigned, kNotAsked),
      ignore(kClosed, kEnd, kOver),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kClosed, kEnd),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(EtcdState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kAsking:
      return "Asking";
    case kCampaigning:
      return "Campaigning";
    case kLeading:
      return "Leading";
    case kResigning:
      return "Resigning";
    case kClosing:
      return "Closing";
    case kClosed:
      return "Closed";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(EtcdEvent event) {
  switch (event) {
    case kSeek:
      return "Seek";
    case kVacant:
      return "Vacant";
    case kNamed:
      return "Named";
    case kRefuted:
      return "Refuted";
    case kWon:
      return "Won";
    case kFailed:
      return "Failed";
    case kExpired:
      return "Expired";
    case kStepDown:
      return "StepDown";
    case kResigned:
      return "Resigned";
    case kEnd:
      return "End";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(EtcdAction action) {
  switch (action) {
    case kNothing:
      return "Nothing";
    case kAsk:
      return "Ask";
    case kCampaign:
      return "Campaign";
    case kFollow:
      return "Follow";
    case kDepose:
      return "Depose";
    case kLead:
      return "Lead";
    case kGiveUp:
      return "GiveUp";
    case kStop:
      return "Stop";
    case kResign:
      return "Resign";
    case kWithdraw:
      return "Withdraw";
    case kClose:
      return "Close";
    case kBug:
      return "Bug";
  }
  MUSTER_CHECK(false);
}

std::span<const EtcdTransition> etcd_transitions() { return Life::kTable; }

const EtcdTransition& transition(EtcdState state, EtcdEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::rendezvous
