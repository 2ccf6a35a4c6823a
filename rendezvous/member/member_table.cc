#include "rendezvous/member/member_table.h"

#include <array>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

using enum MemberState;
using enum MemberEvent;
using enum MemberAction;

constexpr std::string_view kNoRound = "we are in no round";
constexpr std::string_view kNoLeader = "it came over a link that is given up";
constexpr std::string_view kInRound = "the round goes first; Stop ends it";
constexpr std::string_view kNobody = "nothing of ours is alive";
constexpr std::string_view kEarly = "nothing was prepared yet";
constexpr std::string_view kOnce = "told already";
constexpr std::string_view kNotStarted = "not all of them were started";
constexpr std::string_view kOver = "nothing follows";
constexpr std::string_view kLate = "the round is being stopped";
constexpr std::string_view kNotGone = "nobody told them to end";
constexpr std::string_view kWhenGone = "noted; the exit waits until the workers are gone";

// clang-format off: a row is a line.
struct Life : LifeCycle<MemberState, MemberEvent, MemberAction> {
  static constexpr std::array kTable{
      go(kSeeking, kWelcomed, kJoining, kReport),
      go(kSeeking, kLinkLost, kSeeking, kAsk),
      ignore(kSeeking, kWait, kNoLeader),
      ignore(kSeeking, kPark, kNoLeader),
      ignore(kSeeking, kAssigned, kNoLeader),
      bug(kSeeking, kPrepared, kNoRound),
      bug(kSeeking, kStarted, kNoRound),
      bug(kSeeking, kFailed, kNoRound),
      bug(kSeeking, kSucceeded, kNoRound),
      ignore(kSeeking, kStopOrdered, kNoLeader),
      ignore(kSeeking, kFenced, kNobody),
      bug(kSeeking, kGone, kNoRound),
      go(kSeeking, kFinishOrdered, kExiting, kExit),
      go(kSeeking, kGiveUp, kExiting, kExit),
      go(kSeeking, kAbandon, kExiting, kExit),

      go(kJoining, kWelcomed, kJoining, kReport),
      go(kJoining, kLinkLost, kSeeking, kAsk),
      ignore(kJoining, kWait, "we wait already"),
      note(kJoining, kPark, kSpare, "the round runs without us"),
      go(kJoining, kAssigned, kChecking, kPrepare),
      bug(kJoining, kPrepared, kNoRound),
      bug(kJoining, kStarted, kNoRound),
      bug(kJoining, kFailed, kNoRound),
      bug(kJoining, kSucceeded, kNoRound),
      go(kJoining, kStopOrdered, kJoining, kRejoin),
      ignore(kJoining, kFenced, kNobody),
      bug(kJoining, kGone, kNoRound),
      go(kJoining, kFinishOrdered, kExiting, kExit),
      go(kJoining, kGiveUp, kExiting, kExit),
      go(kJoining, kAbandon, kExiting, kExit),

      go(kSpare, kWelcomed, kJoining, kReport),
      go(kSpare, kLinkLost, kSeeking, kAsk),
      note(kSpare, kWait, kJoining, "the next round may need us"),
      ignore(kSpare, kPark, "as before"),
      go(kSpare, kAssigned, kChecking, kPrepare),
      bug(kSpare, kPrepared, kNoRound),
      bug(kSpare, kStarted, kNoRound),
      bug(kSpare, kFailed, kNoRound),
      bug(kSpare, kSucceeded, kNoRound),
      go(kSpare, kStopOrdered, kSpare, kRejoin),
      ignore(kSpare, kFenced, kNobody),
      bug(kSpare, kGone, kNoRound),
      go(kSpare, kFinishOrdered, kExiting, kExit),
      go(kSpare, kGiveUp, kExiting, kExit),
      go(kSpare, kAbandon, kExiting, kExit),

      go(kChecking, kWelcomed, kChecking, kReport),
      go(kChecking, kLinkLost, kChecking, kAsk),
      ignore(kChecking, kWait, kInRound),
      ignore(kChecking, kPark, kInRound),
      ignore(kChecking, kAssigned, kInRound),
      go(kChecking, kPrepared, kStarting, kStart),
      bug(kChecking, kStarted, kEarly),
      go(kChecking, kFailed, kStopping, kReport),
      bug(kChecking, kSucceeded, kEarly),
      go(kChecking, kStopOrdered, kStopping, kStop),
      go(kChecking, kFenced, kStopping, kKill),
      bug(kChecking, kGone, kNotGone),
      go(kChecking, kFinishOrdered, kStopping, kStop),
      go(kChecking, kGiveUp, kStopping, kKill),
      go(kChecking, kAbandon, kStopping, kKill),

      go(kStarting, kWelcomed, kStarting, kReport),
      go(kStarting, kLinkLost, kStarting, kAsk),
      ignore(kStarting, kWait, kInRound),
      ignore(kStarting, kPark, kInRound),
      ignore(kStarting, kAssigned, kInRound),
      bug(kStarting, kPrepared, kOnce),
      go(kStarting, kStarted, kRunning, kReport),
      go(kStarting, kFailed, kStopping, kReport),
      bug(kStarting, kSucceeded, kNotStarted),
      go(kStarting, kStopOrdered, kStopping, kStop),
      go(kStarting, kFenced, kStopping, kKill),
      bug(kStarting, kGone, kNotGone),
      go(kStarting, kFinishOrdered, kStopping, kStop),
      go(kStarting, kGiveUp, kStopping, kKill),
      go(kStarting, kAbandon, kStopping, kKill),

      go(kRunning, kWelcomed, kRunning, kReport),
      go(kRunning, kLinkLost, kRunning, kAsk),
      ignore(kRunning, kWait, kInRound),
      ignore(kRunning, kPark, kInRound),
      ignore(kRunning, kAssigned, kInRound),
      bug(kRunning, kPrepared, kOnce),
      bug(kRunning, kStarted, kOnce),
      go(kRunning, kFailed, kStopping, kReport),
      go(kRunning, kSucceeded, kJoining, kReport),
      go(kRunning, kStopOrdered, kStopping, kStop),
      go(kRunning, kFenced, kStopping, kKill),
      bug(kRunning, kGone, kNotGone),
      go(kRunning, kFinishOrdered, kStopping, kStop),
      go(kRunning, kGiveUp, kStopping, kKill),
      go(kRunning, kAbandon, kStopping, kKill),

      go(kStopping, kWelcomed, kStopping, kReport),
      go(kStopping, kLinkLost, kStopping, kAsk),
      ignore(kStopping, kWait, kInRound),
      ignore(kStopping, kPark, kInRound),
      ignore(kStopping, kAssigned, kInRound),
      ignore(kStopping, kPrepared, kLate),
      ignore(kStopping, kStarted, kLate),
      go(kStopping, kFailed, kStopping, kReport),
      go(kStopping, kSucceeded, kJoining, kReport),
      ignore(kStopping, kStopOrdered, kLate),
      go(kStopping, kFenced, kStopping, kKill),
      go(kStopping, kGone, kJoining, kRejoin),
      ignore(kStopping, kFinishOrdered, kWhenGone),
      go(kStopping, kGiveUp, kStopping, kKill),
      go(kStopping, kAbandon, kStopping, kKill),

      ignore(kExiting, kWelcomed, kOver),
      ignore(kExiting, kLinkLost, kOver),
      ignore(kExiting, kWait, kOver),
      ignore(kExiting, kPark, kOver),
      ignore(kExiting, kAssigned, kOver),
      bug(kExiting, kPrepared, kNobody),
      bug(kExiting, kStarted, kNobody),
      bug(kExiting, kFailed, kNobody),
      bug(kExiting, kSucceeded, kNobody),
      ignore(kExiting, kStopOrdered, kOver),
      ignore(kExiting, kFenced, kOver),
      bug(kExiting, kGone, kNobody),
      ignore(kExiting, kFinishOrdered, kOver),
      ignore(kExiting, kGiveUp, kOver),
      ignore(kExiting, kAbandon, kOver),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kExiting, kAbandon),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(MemberState state) {
  switch (state) {
    case kSeeking:
      return "Seeking";
    case kJoining:
      return "Joining";
    case kSpare:
      return "Spare";
    case kChecking:
      return "Checking";
    case kStarting:
      return "Starting";
    case kRunning:
      return "Running";
    case kStopping:
      return "Stopping";
    case kExiting:
      return "Exiting";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(MemberEvent event) {
  switch (event) {
    case kWelcomed:
      return "Welcomed";
    case kLinkLost:
      return "LinkLost";
    case kWait:
      return "Wait";
    case kPark:
      return "Park";
    case kAssigned:
      return "Assigned";
    case kPrepared:
      return "Prepared";
    case kStarted:
      return "Started";
    case kFailed:
      return "Failed";
    case kSucceeded:
      return "Succeeded";
    case kStopOrdered:
      return "StopOrdered";
    case kFenced:
      return "Fenced";
    case kGone:
      return "Gone";
    case kFinishOrdered:
      return "FinishOrdered";
    case kGiveUp:
      return "GiveUp";
    case kAbandon:
      return "Abandon";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(MemberAction action) {
  switch (action) {
    case kNothing:
      return "Nothing";
    case kAsk:
      return "Ask";
    case kPrepare:
      return "Prepare";
    case kStart:
      return "Start";
    case kReport:
      return "Report";
    case kStop:
      return "Stop";
    case kKill:
      return "Kill";
    case kRejoin:
      return "Rejoin";
    case kExit:
      return "Exit";
    case kBug:
      return "Bug";
  }
  MUSTER_CHECK(false);
}

std::span<const MemberTransition> member_transitions() { return Life::kTable; }

const MemberTransition& transition(MemberState state, MemberEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::rendezvous
