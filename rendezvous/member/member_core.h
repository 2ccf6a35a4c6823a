// MemberCore: the inside of Member, for its sources alone: member.cc (inputs, the table's actions),
// member_link.cc (the link to the leader, the lease), member_lead.cc (who may lead).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/agreement/exchange.h"
#include "rendezvous/agreement/known_rounds.h"
#include "rendezvous/agreement/save_time.h"
#include "rendezvous/member/candidate_state.h"
#include "rendezvous/member/member.h"
#include "rendezvous/member/worker_failures.h"
#include "rendezvous/wire/roster_parts.h"

namespace muster::rendezvous {

class MemberCore {
 public:
  MemberCore(TimePoint now, const JobOptions& options, MemberSetup setup);
  // member_link.cc
  void connected(TimePoint now, int candidate);
  void dial_failed(TimePoint now, int candidate, DialFailure failure, const std::string& text);
  void link_closed(TimePoint now, int candidate, const std::string& why);
  void message(TimePoint now, int candidate, const Message& message);
  /// Lease, heartbeat, dials, join timeout: before and after every input.
  void check_lease(TimePoint now);
  void advance(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> deadline() const;
  // member_lead.cc
  [[nodiscard]] Message answer(TimePoint now, const Hello& hello);
  bool set_candidates(TimePoint now, std::vector<std::string> candidates, std::optional<int> own,
                      std::optional<int> port);
  void elected(TimePoint now, const Election& election);
  void asked(TimePoint now, const leader_output::AskCandidates& question);
  void dialed(TimePoint now, DialId dial, DialResult result);
  [[nodiscard]] bool may_lead() const { return !leave_by_ && !outcome_; }
  [[nodiscard]] bool has_leader() const { return leader_ || leading_; }
  [[nodiscard]] bool knows_round() const { return rounds_.last || rounds_.later; }
  [[nodiscard]] std::optional<int> leader() const { return leader_; }
  // member.cc
  void handle(TimePoint now, MemberEvent event);
  void failed(TimePoint now, uint64_t round, std::vector<Failure> failures);
  void saved();
  void told(WorkerWord word);
  void shutdown(TimePoint now, Duration grace, std::string reason);
  void contribute(uint64_t round, uint64_t sequence, std::string bytes);
  [[nodiscard]] bool current(uint64_t round) const { return in_round() && round == round_; }
  [[nodiscard]] bool in_round() const;
  [[nodiscard]] bool quiet() const;
  std::vector<MemberOutput> take_outputs();
  void set_note_for_peers(std::string note) { setup_.self.note_for_peers = std::move(note); }

  std::vector<MemberOutput> outputs_;
  MemberState state_ = MemberState::kSeeking;
  uint64_t round_ = 0;
  int64_t step_ = -1;    // of round_
  TimePoint beat_at_;    // the next heartbeat
  std::string refused_;  // by this node, last: it was told something else of the job

 private:
  // member_link.cc
  void from_leader(TimePoint now, const Message& message);
  void welcomed(TimePoint now, int candidate, const Welcome& welcome);
  void refused(TimePoint now, int candidate, const Refuse& refuse);
  void acknowledged(TimePoint now, const Ack& ack);
  void assigned(TimePoint now, Assign assign);
  void refused_for_good(TimePoint now, const std::string& text);
  void waiting(TimePoint now, const Waiting& waiting);
  void handed_over(TimePoint now, const Handover& handover);
  void drop_link(TimePoint now, int candidate, CandidateView view, const std::string& problem);
  void unusable(TimePoint now, int candidate, const std::string& problem);
  void lose_leader(TimePoint now, CandidateView view, const std::string& problem);
  void dial(TimePoint now);
  void beat(TimePoint now);
  [[nodiscard]] TimePoint unheard_until() const;
  [[nodiscard]] TimePoint unserved_until() const;
  // member_lead.cc
  [[nodiscard]] std::string missing_leader() const;
  void consider_leading(TimePoint now);
  void ask_again(TimePoint now);
  void call_roll(TimePoint now);
  void become_leader(TimePoint now, const LeadDecision& decision);
  void refused_inquiry(TimePoint now, int candidate, const Refuse& refuse);
  void note_answer(int candidate, CandidateView view);
  void adopt(TimePoint now, const LastRound& last);
  void adopt_later();
  void yield_to(int candidate);
  bool take_leaders(const std::string& leaders);
  [[nodiscard]] LastRound last_round() const;
  [[nodiscard]] LeaderSeed leader_seed(TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> evidence_until(TimePoint now) const;
  // member.cc
  void perform(TimePoint now, MemberEvent event, MemberAction action);
  void exit_now();
  void report(TimePoint now, MemberEvent event);
  void send_join(TimePoint now);
  void rejoin(TimePoint now);
  void stop_workers(TimePoint now, bool job_over);
  void kill_workers(const std::string& reason);
  void keep_budget(TimePoint now, const BudgetState& budget);
  [[nodiscard]] BudgetState budget(TimePoint now) const;
  void send(Message message);
  void log(log::Level level, std::string_view event, std::string reason);
  CandidateState& at(int candidate) { return candidates_.at(static_cast<size_t>(candidate)); }

  const JobOptions& options_;
  const LeaseTimes times_;
  MemberSetup setup_;
  std::vector<CandidateState> candidates_;
  std::optional<int> leader_;  // the candidate we joined
  uint64_t term_ = 0;          // the highest known
  uint64_t leader_agent_ = 0;  // incarnation of whom we joined; our own: it is in this process
  bool had_leader_ = false;    // ever
  bool leading_ = false;       // a Leader here
  bool done_ = false;          // no work left
  Inquiry inquiry_;            // of that Leader
  SentBeats beats_;
  TimePoint joined_at_;   // the leader on its present link
  TimePoint lease_from_;  // when the last acknowledged heartbeat, or the Join, was sent
  LeaderWords words_;     // of leaders
  TimePoint heard_from_;  // when the last heartbeat was sent that a leader answered
  // then a quorum was with the leader
  std::optional<TimePoint> acknowledged_at_;
  std::optional<TimePoint> evidence_from_;
  int fruitless_ = 0;  // leaders of our own since then: none of them found a quorum
  Assign assign_;      // of round_
  RosterParts parts_;  // of the round that comes
  KnownRounds rounds_;
  RollCall roll_call_;
  PendingExchange exchange_;
  BudgetState budget_;
  std::optional<SizeRequest> size_;
  WorkerFailures failures_;               // of the round that is reported
  Stop stop_;                             // what the leader ordered
  SaveTime saving_;                       // of the workers of round_
  TimePoint alone_since_;                 // in no round since
  TimePoint awake_at_;                    // last input
  TimePoint budget_at_;                   // of budget_
  std::optional<MemberOutcome> outcome_;  // decided; waits until the workers are gone
  // these: said last
  std::string fence_reason_;
  std::string leave_reason_;
  std::string notice_;
  std::string waited_for_;
  std::string awaited_;
  bool asked_again_ = false;  // all, since it is our turn
  bool yielded_ = false;      // as LeaderSeed
  // When we must be gone; when we may have to lead; when the lease of the leader we lost ends.
  std::optional<TimePoint> leave_by_;
  std::optional<TimePoint> lead_at_;
  std::optional<TimePoint> successor_due_;
};

}  // namespace muster::rendezvous
