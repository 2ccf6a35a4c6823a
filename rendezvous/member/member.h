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
#include "rendezvous/leader/leader.h"
#include "rendezvous/member/member_output.h"
#include "rendezvous/member/member_table.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/wire/control_protocol.h"
#include "rendezvous/wire/link.h"

namespace muster::rendezvous {

/// This agent was elected by a service outside (etcd), of which it is sure when told.
struct Election {
  uint64_t number = 0;  ///< higher than that of every earlier leader
  bool first = false;   ///< no earlier leader's workers can be alive
  uint64_t after = 0;   ///< number of the leader before this one; 0 = unknown
};

/// Where the list of those who may lead is from.
enum class CandidateSource {
  kTold,     ///< every node was told the same, for good
  kRead,     ///< a file or a service, which other nodes may have read at another time
  kElected,  ///< nobody before a service outside has elected it
};

struct MemberSetup {
  Join self;                            ///< identity, address, sizes, role
  std::vector<std::string> candidates;  ///< names, in their order; never empty. kRead: "host:port"
  CandidateSource source = CandidateSource::kTold;
  double jitter = 0.5;  ///< [0, 1): spreads retries of many agents
};

/// A worker failed that may start again alone, while the others run.
struct LoneEnd {
  int rank = 0;
  std::string reason;
};
/// What a node says of one worker whose end is not that of all. JobDecision: one that decides for
/// the job has succeeded; others may still run here.
using WorkerWord = std::variant<JobDecision, LoneEnd>;

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
  void on_dial_failed(TimePoint now, int candidate, DialFailure failure, const std::string& text);
  void on_link_closed(TimePoint now, int candidate, const std::string& why = "connection closed");
  void on_message(TimePoint now, int candidate, const Message& message);
  void on_tick(TimePoint now);
  /// In place of the outcome of a dial of the candidate 0, which from now on is in this process.
  /// Only for a member that is no candidate itself; ignored when it seeks nobody.
  void on_elected(TimePoint now, const Election& election);
  /// The Leader of this process asks (leader_output::AskCandidates); the answer is an output, none
  /// when it is lost meanwhile.
  void on_asked(TimePoint now, const leader_output::AskCandidates& question);
  /// The result of a NodeDial.
  void on_dialed(TimePoint now, DialId dial, DialResult result);
  /// It would lead if it were elected: it is not about to end.
  [[nodiscard]] bool may_lead() const;

  // Workers; calls for another round than the current one are late and ignored.
  void on_prepared(TimePoint now, uint64_t round);
  void on_started(TimePoint now, uint64_t round);
  /// May be called again for further failures. The group is being stopped already.
  void on_failed(TimePoint now, uint64_t round, std::vector<Failure> failures);
  void on_succeeded(TimePoint now, uint64_t round);
  /// The answer to a LoneEnd is an output, unless all workers are stopped before.
  void on_word(TimePoint now, uint64_t round, WorkerWord word);
  void on_gone(TimePoint now, uint64_t round);
  /// Of workers that were told to save (member_output::NotifyWorkers) there are none, or no more:
  /// a Stop has nothing to wait for.
  void on_saved(TimePoint now, uint64_t round);
  /// The furthest step that this node's workers of that round made, >= 0. The first one is told at
  /// once, as it ends an interruption of the job; later ones with the next heartbeat. A lower one
  /// than before, or of another round, is nothing.
  void on_progress(TimePoint now, uint64_t round, int64_t step);
  /// This node's part of an exchange (exchange.h); the answer is an output. One at a time, numbered
  /// from 0 in each round. At most kMaxExchangeBytes.
  void on_contribution(TimePoint now, uint64_t round, uint64_t sequence, std::string bytes);

  /// The list of those who may lead is another one, or this node's place in it: all are asked anew;
  /// when those of the same name were heard last is kept. The caller drops its links to them.
  /// A leader that lives here and that this node has not joined yet ends. False: not now, because
  /// a leader is followed; nothing happened then.
  /// `port`: Join::port of this node from now on, before it knows a round; none = as it was.
  bool set_candidates(TimePoint now, std::vector<std::string> candidates, std::optional<int> own,
                      std::optional<int> port = {});

  /// SIGTERM: leave in good order within `grace`. A second call leaves now.
  void on_shutdown(TimePoint now, Duration grace, std::string reason);

  /// The answer to another agent's Hello while no Leader lives in this process.
  [[nodiscard]] Message answer(TimePoint now, const Hello& hello);
  /// Another agent has another job secret, in words: who finds no leader is told of it.
  void on_misfit(const std::string& text);
  /// Join::note_for_peers of this node, if it was not known when this was made. Before the first
  /// turn.
  void set_note_for_peers(std::string note);

  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<MemberOutput> take_outputs();
  [[nodiscard]] MemberState state() const;
  /// This node was in a round of the job, or was told of one. From then on its leaders are fixed.
  [[nodiscard]] bool knows_round() const;
  [[nodiscard]] bool has_leader() const;            ///< it follows one, or one lives here
  [[nodiscard]] std::optional<int> leader() const;  ///< the candidate that it follows

 private:
  std::unique_ptr<MemberCore> core_;
};

}  // namespace muster::rendezvous
