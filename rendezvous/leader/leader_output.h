// What a leader (leader.h) wants done, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.h"
#include "rendezvous/agreement/roll_call.h"
#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

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
                 leader_output::AskCandidates, leader_output::Log, leader_output::StepDown,
                 leader_output::Finished>;

}  // namespace muster::rendezvous
