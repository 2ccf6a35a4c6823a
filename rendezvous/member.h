// Member: an agent's side of the rendezvous: finds the leader, keeps its lease, takes part in
// rounds. The states are in member_table.h, this object drives them; no I/O, no clock. It says when
// workers start and stop; how one attempt of them lives is elastic/worker_group.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/control_protocol.h"
#include "rendezvous/job_options.h"
#include "rendezvous/leader.h"
#include "rendezvous/member_table.h"

namespace muster::rendezvous {

enum class DialFailure { kRefused, kNoAnswer, kNoName, kRejected };  ///< kRejected: TLS says no

/// Outcome for the exit code: `preempted` = left with work unfinished (143).
struct MemberOutcome {
  bool success = false;
  bool preempted = false;
  int exit_code = 0;  ///< worker's own code or ours (69, 78); 0 with success
  std::string reason;
  std::optional<Failure> first;  ///< the job's first failure
};

/// Links are numbered by candidate: at most one to each. The own candidate is dialled like others;
/// the caller connects it in the process when it leads, else refuses.
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
struct BecomeLeader {
  LeaderSeed seed;
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
struct Exit {
  MemberOutcome outcome;
};
struct Log {
  log::Level level;
  std::string event;
  std::string reason;
};
}  // namespace member_output
using MemberOutput =
    std::variant<member_output::Dial, member_output::CloseLink, member_output::Send,
                 member_output::BecomeLeader, member_output::StopLeading,
                 member_output::PrepareRound, member_output::StartWorkers,
                 member_output::StopWorkers, member_output::KillWorkers,
                 member_output::NotifyWorkers, member_output::Exit, member_output::Log>;

struct MemberSetup {
  Join self;                            ///< identity, address, sizes, role; the rest is ignored
  std::vector<std::string> candidates;  ///< names for messages, in their order; never empty
  double jitter = 0.5;                  ///< [0, 1): spreads retries of many agents
};

class MemberCore;

class Member {
 public:
  /// `options` is borrowed. Begins seeking: take the first outputs right away.
  Member(TimePoint now, const JobOptions& options, MemberSetup setup);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Every input checks the lease first: an agent that was frozen kills its workers before anything.
  void on_connected(TimePoint now, int candidate);
  void on_dial_failed(TimePoint now, int candidate, DialFailure failure, std::string text);
  void on_link_closed(TimePoint now, int candidate);
  void on_message(TimePoint now, int candidate, const Message& message);
  void on_tick(TimePoint now);

  // Workers; calls for another round than the current one are late and ignored.
  void on_prepared(TimePoint now, uint64_t round);
  void on_started(TimePoint now, uint64_t round);
  /// May be called again for further failures. The group is being stopped already.
  void on_failed(TimePoint now, uint64_t round, std::vector<Failure> failures);
  void on_succeeded(TimePoint now, uint64_t round);
  void on_gone(TimePoint now, uint64_t round);
  void on_progress(TimePoint now, int64_t step);

  /// SIGTERM: leave in good order within `grace`. A second call leaves now.
  void on_shutdown(TimePoint now, Duration grace, std::string reason);

  /// The answer to another agent's Hello while no Leader lives in this process.
  [[nodiscard]] Message answer(const Hello& hello) const;

  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<MemberOutput> take_outputs();
  [[nodiscard]] MemberState state() const;
  [[nodiscard]] uint64_t round() const;
  [[nodiscard]] bool workers_alive() const;  ///< as far as told

 private:
  std::unique_ptr<MemberCore> core_;
};

}  // namespace muster::rendezvous
