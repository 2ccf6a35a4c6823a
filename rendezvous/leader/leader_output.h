// What a leader (leader.h) wants done, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/agreement/roll_call.h"
#include "rendezvous/leader/leader_table.h"
#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

/// Entered::cause: of a former leader's round.
inline constexpr std::string_view kCauseLeader = "leader";

/// A control connection; numbered by whoever owns it, never used twice.
using LinkId = uint64_t;

/// Besides these: NodeDial, for on_dialed.
namespace leader_output {
struct Send {
  LinkId link;
  Message message;
};
struct CloseLink {
  LinkId link;
  std::string reason;
};  ///< after what was sent to it
/// The same answer for many; Link::put_answer says in which order.
struct SendAnswer {
  LinkId link;
  ExchangeAnswer answer;
};
struct Log {
  log::Level level;
  std::string_view event;  ///< one of events.h
  std::string reason;
  uint64_t round = 0;  ///< 0 = it is of none
};
/// The leader is in this state since then: for the restart timeline. The first one is said when it
/// begins.
struct Entered {
  LeaderState state = LeaderState::kGathering;
  TimePoint at;
  uint64_t round = 0;  ///< the newest; 0 = none yet
  /// kStopping and what follows: why the round ended, "failure", "lost", ... (BreakCause);
  /// kCauseLeader; "" = no round did.
  std::string_view cause = {};
  std::string reason = {};
  TimePoint fault = {};  ///< when what ended it happened, as far as is known
  TimePoint known = {};  ///< when the leader knew
  TimePoint stopped =
      {};  ///< kGathering, kAssigned: since then no worker of an earlier one was alive
  TimePoint pause_over = {};  ///< kAssigned: until then the policy had the job wait
};
/// The workers of this round made a step: once for each round, after all of them were started.
struct Moved {
  TimePoint at;
  uint64_t round = 0;
};
/// Its node's member shall ask who may lead, but for those in `here` (places in the list), and tell
/// on_candidates. `all_here`: all nodes that the job may have are, spares too.
struct AskCandidates {
  std::vector<int> here = {};
  bool all_here = false;
  uint64_t number = 0;  ///< CandidateAnswers::question
};
/// Leads no more: send what was given, close its links, destroy it.
struct StepDown {
  std::string reason;
};
/// Every node knows the outcome or had a lease to ask for it; so long the leader's process stays.
struct Finished {
  bool success;
  int exit_code;
  std::string reason;
};
}  // namespace leader_output
using LeaderOutput =
    std::variant<leader_output::Send, leader_output::SendAnswer, leader_output::CloseLink, NodeDial,
                 leader_output::AskCandidates, leader_output::Log, leader_output::Entered,
                 leader_output::Moved, leader_output::StepDown, leader_output::Finished>;

}  // namespace muster::rendezvous
