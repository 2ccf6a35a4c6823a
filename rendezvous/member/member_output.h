// What a Member asks of whoever runs it; carried out in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/leader/leader.h"
#include "rendezvous/messages/control_messages.h"

namespace muster::rendezvous {

/// Outcome for the exit code: `preempted` = left with work unfinished (143).
struct MemberOutcome {
  bool success = false;
  bool preempted = false;
  int exit_code = 0;  ///< worker's own code or ours (69, 78); 0 with success
  std::string reason;
  std::optional<Failure> first;          ///< the job's first failure
  std::string verdict = {};              ///< Finish::verdict
  bool told = false;                     ///< by the leader, so it is that of all nodes
  std::optional<JobCounts> counts = {};  ///< as it was told
};

/// Links are numbered by candidate: at most one to each. The own candidate is dialled like others;
/// the caller connects it in the process when it leads, else refuses. A NodeDial, for on_dialed, is
/// no link.
namespace member_output {
struct Dial {
  int candidate;
};
struct CloseLink {
  int candidate;
};
struct Send {
  int candidate;
  Message message;
};
/// The Leader of this process goes: close its links, destroy it.
struct StopLeading {
  std::string reason;
};
/// An agent of the job says that others than MemberSetup::candidates may lead it, "host:port" with
/// commas: call set_candidates with these, after the other outputs.
struct TakeLeaders {
  std::string leaders;
};
struct BecomeLeader {
  LeaderSeed seed;
};
/// For the Leader of this process: Leader::on_candidates.
struct TellLeader {
  CandidateAnswers answers;
};
/// Prepare what workers of this round need (job store on node rank 0, log folders), then call
/// on_prepared or on_failed.
struct PrepareRound {
  Assign assign;
};
struct StartWorkers {
  Assign assign;
};  ///< then on_started, or on_failed
struct StopWorkers {
  uint64_t round;
  Duration grace;
  std::string reason;
};  ///< then on_gone
struct KillWorkers {
  uint64_t round;
  std::string reason;
};  ///< then on_gone
/// A node leaves: checkpoint signal to the workers, if the options want one.
struct NotifyWorkers {
  uint64_t round;
  bool leaver_is_self;
  Duration grace;
  std::string leaver;
};
/// What all nodes gave, by node rank, or why there is no answer.
struct ExchangeDone {
  uint64_t round;
  uint64_t sequence;
  Result<std::vector<std::string>> contributions;
};
/// The answer to LoneEnd: the worker starts again after the pause, or its failure counts. Nothing
/// if all were told to end meanwhile.
struct RestartAlone {
  LoneFailure failed;
  MayRestart verdict;
};
struct Exit {
  MemberOutcome outcome;
};
struct Log {
  log::Level level;
  std::string_view event;  ///< one of events.h
  std::string reason;
};
}  // namespace member_output
using MemberOutput =
    std::variant<member_output::Dial, NodeDial, member_output::CloseLink, member_output::Send,
                 member_output::TakeLeaders, member_output::BecomeLeader, member_output::TellLeader,
                 member_output::StopLeading, member_output::PrepareRound,
                 member_output::StartWorkers, member_output::StopWorkers,
                 member_output::KillWorkers, member_output::NotifyWorkers,
                 member_output::ExchangeDone, member_output::RestartAlone, member_output::Exit,
                 member_output::Log>;

}  // namespace muster::rendezvous
