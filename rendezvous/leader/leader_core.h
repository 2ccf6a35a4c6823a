// LeaderCore: the inside of Leader, for its sources alone: leader.cc (inputs), leader_rounds.cc
// (what follows from them), leader_liveness.cc (who lives), leader_quorum.cc (who may go on), ...
#pragma once

#include <unordered_map>

#include "rendezvous/agreement/membership.h"
#include "rendezvous/agreement/target_size.h"
#include "rendezvous/leader/inquiry.h"
#include "rendezvous/leader/leader_ending.h"
#include "rendezvous/leader/leader_names.h"
#include "rendezvous/leader/leader_voice.h"
#include "rendezvous/leader/node_changes.h"
#include "rendezvous/leader/node_places.h"
#include "rendezvous/leader/node_table.h"
#include "rendezvous/leader/unused_nodes.h"

namespace muster::rendezvous {

/// As times are told to other nodes.
[[nodiscard]] inline int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

class LeaderCore {
 public:
  LeaderCore(TimePoint now, const JobOptions& options, RoundPolicy& policy, LeaderSeed seed);
  // leader.cc
  void message(TimePoint now, LinkId link, const Message& message);
  void link_closed(TimePoint now, LinkId link);
  void moved(const std::string& host);
  // leader_liveness.cc, leader_quorum.cc
  void dialed(TimePoint now, DialId dial, DialResult result);
  void step(TimePoint now, TimePoint made, uint64_t round, int64_t step);
  void answered(TimePoint now, CandidateAnswers answers);
  // leader_rounds.cc
  void evaluate(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> deadline() const { return wake_at_; }
  // leader_size.cc
  Status follow_list(std::optional<int> nodes);
  Status resize(TimePoint now, const SizeWish& wish);
  // leader_wishes.cc
  Status obey(TimePoint now, const JobWish& wish);
  // leader_status.cc
  [[nodiscard]] std::string status_json(TimePoint now) const;
  [[nodiscard]] std::vector<RosterEntry> nodes() const;

  LeaderVoice voice_;
  LeaderState state_ = LeaderState::kGathering;
  Electorates electorates_;
  uint64_t term_ = 0;
  std::string misfit_;   // refused last for what it was told, and why
  std::string missing_;  // on_missing()

 private:
  // leader.cc
  void hello(TimePoint now, LinkId link, const Hello& hello);
  void join(TimePoint now, LinkId link, const Join& join);
  void absorb(TimePoint now, LeaderNode& node);
  void resume(TimePoint now, LeaderNode& node);
  void from_node(TimePoint now, LeaderNode& node, const Message& message);
  void contributed(const LeaderNode& node, const Contribution& part);
  void leaving(TimePoint now, LeaderNode& node, const Leaving& leaving);
  void take_budget(TimePoint now, const BudgetState& budget);
  [[nodiscard]] BudgetState budget(TimePoint as_of) const;
  [[nodiscard]] LastRound last_round(const Electorate& ran) const;
  void refuse(LinkId link, RefuseCode code, std::string text);
  void send(const LeaderNode& node, Message message);
  // leader_assign.cc
  void assign(TimePoint now);
  [[nodiscard]] std::vector<RosterEntry> take_seats(Electorate& round);
  void send_place(const RoundMember& member, Assign assign, const std::vector<RosterEntry>& roster);
  void tell_waiting(LeaderNode& node, bool spare, const std::string& reason);
  // leader_liveness.cc
  void check_liveness(TimePoint now);
  void look_with_own_beat(TimePoint now);
  void call_roll(TimePoint now);
  [[nodiscard]] std::vector<RosterEntry> unaccounted() const;
  void lost(TimePoint now, uint64_t incarnation, bool gone, const std::string& why);
  // leader_quorum.cc
  [[nodiscard]] bool replace_missing(TimePoint now);
  [[nodiscard]] bool others_asked(TimePoint now);
  [[nodiscard]] std::vector<PresentNode> present(TimePoint now) const;
  [[nodiscard]] Quorum count_quorum(TimePoint now);
  [[nodiscard]] bool unaware_may_count(TimePoint now);
  [[nodiscard]] bool may_be_partial(TimePoint now);
  void check_quorum(TimePoint now);
  void confirm_round(TimePoint now);
  void look_for_others(TimePoint now);
  void send_acks(TimePoint now);
  void acknowledge(TimePoint now, LeaderNode& node);
  void hand_over(const std::string& reason, bool intact = false);
  void ask_others(TimePoint now);
  // leader_failures.cc
  void failed(TimePoint now, LeaderNode& node, uint64_t round, std::vector<Failure> failures);
  void lone_failed(TimePoint now, const LeaderNode& node, const LoneFailure& lone);
  bool settle_failures(TimePoint now);
  // leader_rounds.cc
  void handle(TimePoint now, LeaderEvent event);
  void perform(TimePoint now, LeaderAction action);
  [[nodiscard]] bool busy() const { return under_way(state_); }
  [[nodiscard]] std::vector<LeaderNode*> free_nodes();
  [[nodiscard]] RoundHistory history(TimePoint now) const;
  void gather(TimePoint now);
  void watch_round(TimePoint now);
  void watch_stop(TimePoint now);
  [[nodiscard]] bool job_succeeded(int succeeded) const;
  bool everybody_succeeded();
  bool watch_leavers(TimePoint now);
  void break_round(TimePoint now, BreakCause cause, std::string reason,
                   std::optional<TimePoint> since = {});
  void linger(TimePoint now);
  void wake(TimePoint at);
  void run(TimePoint now);
  void stop_round(TimePoint now);
  void finish(TimePoint now);
  // leader_size.cc
  void watch_size(TimePoint now, int nodes);
  void watch_surplus(int here);

  const JobOptions& options_;
  RoundPolicy& policy_;
  const LeaseTimes times_;
  const std::vector<Setting> settings_;  // all, to compare with
  LeaderNames names_;
  std::string joined_;  // since the last look, for the log
  // LeaderSeed; told; last
  uint64_t own_ = 0;
  uint64_t candidates_ = 0;
  uint64_t newest_round_ = 0;
  bool uncertain_ = false;
  bool yielded_ = false;
  bool vacant_ = false;
  bool stepped_down_ = false;
  std::optional<TimePoint> evidence_until_;
  std::optional<TimePoint> elected_safe_at_;
  std::optional<TimePoint> quorum_since_;
  NodeTable nodes_;
  std::unordered_map<LinkId, LeaderNode*> links_;  // joined ones, into nodes_
  NodePlaces places_;
  std::unordered_map<LinkId, TimePoint> greeted_;  // said Hello, not Join; when we answered
  std::vector<LinkId> acks_;                       // owed
  RollCall roll_call_;
  // something happened that a decision depends on
  bool dirty_ = true;
  bool quorum_stale_ = true;
  RoundEnding ending_;
  ExchangeTable exchange_;            // of the current round
  RoundDecision decision_;            // what kRoundFormed announces
  std::vector<LeaderNode*> joiners_;  // as decision_ counts them; for as long as it is acted upon
  std::vector<uint64_t> newcomers_;   // incarnations, to be told of the last round
  TimePoint not_before_;              // the policy's pause
  TimePoint safe_at_;                 // what former leaders led is over then
  TimePoint gathering_since_;
  TimePoint began_;
  TimePoint last_joined_;
  TimePoint quorum_lost_;
  TimePoint evaluated_at_;
  TimePoint look_at_;      // for silence
  TimePoint quorum_said_;  // that it is missing
  // lost: a node or the last leader
  std::optional<TimePoint> linger_until_;
  std::optional<TimePoint> wake_at_;
  std::optional<TimePoint> lost_at_;
  Inquiry inquiry_;
  std::optional<JobEnd> end_;
  UnusedNodes unused_;  // when it ends
  TargetSize target_;
  std::optional<RoundKey> formed_;  // the last round of this leader's own
  int last_size_ = 0;
  NodeChanges changes_;
  RoundStep furthest_;
};

}  // namespace muster::rendezvous
