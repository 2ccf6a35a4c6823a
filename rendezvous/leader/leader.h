// Leader: keeps the job's membership and leads its rounds. The states are in leader_table.h; this
// object drives them; no I/O, no clock: it is told what happened, with the time, and says what to
// do. Whoever runs it (launcher, simulator) owns the links and carries out the outputs in order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rendezvous/leader/leader_output.h"
#include "rendezvous/leader/leader_table.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::rendezvous {

/// How a leader begins (member_output::BecomeLeader has it ready).
struct LeaderSeed {
  uint64_t term = 1;
  std::string name;          ///< of its node
  uint64_t incarnation = 0;  ///< of its node's agent
  bool uncertain = false;    ///< another may lead elsewhere (decide_first_quorum)
  /// Since its node's last round its agent has followed another leader, or has told another of
  /// those who may lead that nobody leads: that one may have begun a round.
  bool yielded = false;
  std::optional<RoundReport> last_round;  ///< as its own node knows it
  std::optional<TimePoint> leader_heard;  ///< when its node last heard a leader before this one
  /// Until then the end of a node of last_round (a refused connection, a new agent at its address)
  /// proves that it ended in that round; later it may have run in another. None = already over.
  std::optional<TimePoint> evidence_until;
  std::optional<RoundReport> confirmed_round;  ///< as in Join
  std::vector<EndedNodes> ended;               ///< of these two rounds
  BudgetState budget;
  std::optional<SizeRequest> size;  ///< as in Join
  /// A service outside has elected it, so it needs no quorum. From this time on no worker can be
  /// alive of a round that it does not know. None = the nodes decide who leads (takeover.h).
  std::optional<TimePoint> elected_safe_at;
  /// How many places the list of those who may lead has, if every node was told the same. 0 = other
  /// nodes may have read another one.
  size_t candidates = 0;
  std::string leaders;  ///< as in Welcome
  std::string misfit;   ///< whom its agent has refused before it led, and why; "" = nobody
  bool quiet = false;   ///< one of many attempts in vain: log at debug until there is a quorum
};

/// What the others who may lead answered.
struct CandidateAnswers {
  uint64_t question = 0;   ///< its number: of an earlier one the leader wants to know nothing more
  bool silent = false;     ///< one gave no answer and no refusal: it may live, and lead others
  bool elsewhere = false;  ///< one leads, or follows another leader
  bool workers = false;    ///< one that is not here and does not lead has workers alive
};

/// How many nodes somebody wants.
struct SizeWish {
  int nodes = 0;         ///< 0 = as many as may be
  bool at_once = false;  ///< growth waits for nothing but nodes
  std::string by;        ///< name of the machine that asks
};

/// What somebody wants of the job.
struct JobWish {
  JobCommand command;
  std::string by;  ///< name of the machine that asks
};

class LeaderCore;

class Leader {
 public:
  /// `options` and `policy` are borrowed for the life of the leader.
  Leader(TimePoint now, const JobOptions& options, RoundPolicy& policy, LeaderSeed seed);
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  /// Messages of a link that did not begin with Hello, or that make no sense, close it with Refuse.
  void on_message(TimePoint now, LinkId link, const Message& message);
  /// `misfit`: it ended before its first message, for another secret, in words. "" = otherwise.
  void on_link_closed(TimePoint now, LinkId link, std::string misfit = {});
  void on_dialed(TimePoint now, DialId dial, DialResult result);
  /// The answer to AskCandidates.
  void on_candidates(TimePoint now, CandidateAnswers answers);
  /// Other nodes reach the own node at this numeric address: from the next round on it is its own.
  void on_own_host(const std::string& host);
  /// Evidence from elsewhere that all nodes of `round` live: it made a step. Only a step beyond the
  /// last of that round is any, and only while it runs; the steps of heartbeats count likewise.
  void on_step(TimePoint now, uint64_t round, int64_t step);
  /// How many nodes the list of hosts asks for; none = it asks for nothing. kUsage: not allowed.
  Status follow_list(std::optional<int> nodes);
  /// How many nodes the job shall have from now on; all nodes are told, for later leaders. Errors:
  /// kUsage, no allowed size, or the list or the static backend says how many; kPeer, no quorum is
  /// here.
  Status resize(TimePoint now, const SizeWish& wish);
  /// Ends the round, at nobody's charge, or the job: every node that is here, or comes, is told to
  /// go. kPeer: no quorum is here, or no round is under way that could end.
  Status obey(TimePoint now, const JobWish& wish);
  /// Which nodes that are known from elsewhere have not joined, in words; "" = none.
  void on_missing(std::string line);

  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  /// Decides upon all inputs since the last call. Call once per turn of the loop after its inputs
  /// (that keeps a thousand joins cheap), and at next_deadline().
  [[nodiscard]] std::vector<LeaderOutput> take_outputs(TimePoint now);
  /// The same, each at once: those of a large round are never all there. It may not call the
  /// leader.
  using Perform = std::function<void(LeaderOutput output)>;
  void perform_outputs(TimePoint now, const Perform& perform);
  /// Those that inputs brought about by themselves, such as the answer to Hello, without deciding
  /// anything: who greets waits for nothing else.
  void perform_answers(const Perform& perform);

  [[nodiscard]] LeaderState state() const;
  [[nodiscard]] uint64_t round() const;
  [[nodiscard]] uint64_t term() const;
  /// Those that are not lost and not told to go, by seat: whom a leader that is alone in its round
  /// may use. O(n).
  [[nodiscard]] std::vector<RosterEntry> nodes() const;
  /// For `muster status`: nodes, ranks, states, round, budget, reasons. One JSON object.
  [[nodiscard]] std::string status_json(TimePoint now) const;

 private:
  std::unique_ptr<LeaderCore> core_;
};

}  // namespace muster::rendezvous
