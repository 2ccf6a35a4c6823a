// The leader's rounds: forming, watching, stopping and ending them.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/agreement/place_index.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

namespace {

using std::chrono::milliseconds;

constexpr size_t kManyMissing = 16;         // see evaluate()
constexpr auto kToJoin = milliseconds(10);  // from a greeting, at most: then the others are told
// The nodes of a job that starts: only then a line says that they are waited for.
constexpr auto kToCome = std::chrono::seconds(1);

JobEnd success(const JobOptions& options, const RoundEnding& ending, int succeeded) {
  std::string reason =
      succeeded == 1 ? "the node succeeded" : fmt::format("all {} nodes succeeded", succeeded);
  if (options.rule.first_decides()) reason = "the launcher succeeded";
  if (ending.decision) reason = ending.decision->reason;
  return {true, 0, std::move(reason), std::nullopt};
}

// A node whose assignment was lost does not know its seat in that round, but others may; the rank
// that it would get by its own identity is another's if it had replaced somebody.
class FormerSeats {
 public:
  explicit FormerSeats(Electorates& electorates) : electorates_(electorates) {}
  // None also where somebody got that seat while this node was away.
  std::optional<NodeIdentity> of(const LeaderNode& node) {
    const uint64_t incarnation = node.incarnation();
    if (auto seat = of(electorates_.latest, incarnation)) return seat;
    const auto before = of(electorates_.confirmed, incarnation);
    const auto& seat = before ? before : node.seat;
    return seat && given(*seat) ? std::nullopt : seat;
  }

 private:
  static std::optional<NodeIdentity> of(Electorate& round, uint64_t incarnation) {
    const ElectorSeat* seat = round.find(incarnation);
    if (seat == nullptr || !seat->who) return std::nullopt;
    return seat->who->identity;
  }
  bool given(const NodeIdentity& place) {
    if (!given_) {
      given_.emplace();
      for (const ElectorSeat& seat : electorates_.latest.seats)
        if (seat.who) given_->add(seat.who->identity);
    }
    return given_->find(place).has_value();
  }

  Electorates& electorates_;
  std::optional<PlaceIndex> given_;  // in the last round; asked for by few
};

// Nobody of the round of `size` nodes waits for those of them that save: all were told to go, or
// have no work left.
bool all_leave(const RoundEnding& ending, const Electorate& round, int size) {
  return ending.leavers > 0 && ending.leavers + round.gone_after_success() >= size;
}

// When what an earlier leader of any of them began, without their knowledge, is over. For those
// with a seat safe_to_form() says it.
TimePoint rival_over(const NodeTable& nodes, const Electorates& electorates, Duration lease) {
  TimePoint over;
  for (const LeaderNode* node : nodes) {
    if (!node->join.former_leader_ms) continue;
    const uint64_t incarnation = node->incarnation();
    const bool sits = electorates.latest.has(incarnation) || electorates.confirmed.has(incarnation);
    if (!sits) over = std::max(over, node->came_over + lease);
  }
  return over;
}

}  // namespace

void LeaderCore::evaluate(TimePoint now) {
  if (stepped_down_) return;
  if (!dirty_ && wake_at_ && now < *wake_at_) return send_acks(now);
  // While nodes are missing nothing but a time-out could follow from looking at all of them. Who
  // has greeted joins in a moment, and may be the last: nobody is told before that one is missing.
  const bool missing = !busy() && static_cast<int>(nodes_.size()) < options_.max_nodes;
  const bool due = wake_at_ && *wake_at_ <= now;
  if (missing && !greeted_.empty() && !due) return wake(now + kToJoin);
  // Where they come by the hundred that is done only so often: else N nodes cost N * N.
  const TimePoint next = evaluated_at_ + nodes_.size() * std::chrono::microseconds(10);
  if (missing && nodes_.size() > kManyMissing && now < next) {
    wake(next);
    return send_acks(now);
  }
  evaluated_at_ = now;
  dirty_ = false;
  wake_at_.reset();
  // Who is in the first round is told when it runs.
  if (!joined_.empty()) {
    const bool early = electorates_.latest.round == 0;
    voice_.log(early ? log::Level::kDebug : log::Level::kInfo, kEventNodeJoined,
               std::exchange(joined_, {}));
  }
  check_liveness(now);
  if (stepped_down_) return;
  check_quorum(now);
  call_roll(now);
  LeaderState before;
  do {
    before = state_;
    switch (state_) {
      case LeaderState::kGathering:
      case LeaderState::kLastCall:
        gather(now);
        break;
      case LeaderState::kAssigned:
      case LeaderState::kRunning:
        watch_round(now);
        break;
      case LeaderState::kStopping:
        watch_stop(now);
        break;
      case LeaderState::kFinished:
        linger(now);
        break;
    }
  } while (state_ != before && !stepped_down_);
  if (state_ == LeaderState::kAssigned || state_ == LeaderState::kRunning) {
    for (LeaderNode* node : free_nodes())
      tell_waiting(*node, true, fmt::format("spare of round {}", electorates_.latest.round));
  }
  // Who came in this turn and was told nothing better. Most are: they get one message, not two.
  // Also who missed its assignment, while that round is stopped: it may lead next, and has to know.
  for (const uint64_t incarnation : std::exchange(newcomers_, {})) {
    LeaderNode* node = nodes_.find(incarnation);
    const bool waits =
        node != nullptr && !node->told && (node->rank() < 0 || state_ == LeaderState::kStopping);
    if (waits && !end_) tell_waiting(*node, false, "");
  }
  // Last: who is told something else gets both at once.
  send_acks(now);
}

void LeaderCore::handle(TimePoint now, LeaderEvent event) {
  const LeaderTransition& row = transition(state_, event);
  MUSTER_CHECK(row.action != LeaderAction::kBug);
  if (row.next != state_) {
    // Seldom shown, and on the way to every round: not by fmt, whose code is in no cache here.
    std::string change(to_string(state_));
    change.append(" on ").append(to_string(event)).append(": ").append(to_string(row.next));
    voice_.log(log::Level::kDebug, kEventLeaderState, std::move(change));
  }
  const bool changes = std::exchange(state_, row.next) != row.next;
  perform(now, row.action);
  if (!changes) return;
  leader_output::Entered entered{state_, now, electorates_.latest.round};
  entered.cause = to_string(ending_.cause);
  if (!entered.cause.empty()) entered.reason = ending_.text;
  entered.fault = ending_.fault;
  entered.known = ending_.known;
  entered.stopped = gathering_since_;
  entered.pause_over = not_before_;
  voice_.put(std::move(entered));
  // A step that came before the last of the workers was started.
  if (state_ == LeaderState::kRunning && furthest_.tell(electorates_.latest.round))
    voice_.put(leader_output::Moved{now, electorates_.latest.round});
}

void LeaderCore::perform(TimePoint now, LeaderAction action) {
  switch (action) {
    case LeaderAction::kNothing:
      return;
    case LeaderAction::kAssign:
      return assign(now);
    case LeaderAction::kRun:
      return run(now);
    case LeaderAction::kStop:
      return stop_round(now);
    case LeaderAction::kGather:
      gathering_since_ = now;
      for (LeaderNode* node : nodes_) node->set_rank(-1);
      return;
    case LeaderAction::kFinish:
      return finish(now);
    case LeaderAction::kBug:
      return;
  }
}

void LeaderCore::wake(TimePoint at) { wake_at_ = wake_at_ ? std::min(*wake_at_, at) : at; }

std::vector<LeaderNode*> LeaderCore::free_nodes() {
  std::vector<LeaderNode*> nodes;
  if (static_cast<size_t>(nodes_.counts().in_any()) == nodes_.size()) return nodes;
  nodes.reserve(nodes_.size());
  for (LeaderNode* node : nodes_) {
    const bool idle = node->progress() == NodeProgress::kIdle ||
                      (node->progress() == NodeProgress::kSucceeded && !busy());
    if (node->link() && !node->suspect && !node->leave_by() && idle && node->rank() < 0)
      nodes.push_back(node);
  }
  return nodes;
}

RoundHistory LeaderCore::history(TimePoint now) const {
  RoundHistory history;
  history.target_nodes = target_.nodes();
  history.had_round = electorates_.latest.round > 0;
  if (!history.had_round) return history;
  history.last_nodes = last_size_;
  const int wanted = target_.nodes().value_or(options_.max_nodes);
  const int here = static_cast<int>(joiners_.size());
  if (!options_.rule.leader_alone() && !ending_.growing && here > last_size_ &&
      wanted > last_size_ && size_allowed(options_, last_size_) &&
      !target_.hurried(policy_.may_grow(now)).now) {
    history.target_nodes = last_size_;
  }
  history.replace_until = policy_.replace_until(lost_at_.value_or(gathering_since_));
  std::vector<bool> filled(electorates_.latest.seats.size());
  for (const LeaderNode* node : joiners_) {
    if (const auto rank = electorates_.latest.rank_of(node->incarnation())) filled[*rank] = true;
  }
  for (size_t rank = 0; rank < filled.size(); ++rank) {
    const ElectorSeat& seat = electorates_.latest.seats[rank];
    if (seat.who && !filled[rank]) history.empty_seats.push_back(seat.who->identity);
  }
  return history;
}

void LeaderCore::gather(TimePoint now) {
  if (!quorum_since_) {
    // What one of them reported all shall know, should this leader give up.
    for (LeaderNode* node : free_nodes())
      tell_waiting(*node, false, "too few nodes of the last round are here");
    return;
  }
  TimePoint safe = std::max(elected_safe_at_.value_or(now), safe_at_);
  // If the leader's node is alone in a round, no other node than the last such one could run
  // elsewhere. That one is gone or here (count_quorum).
  if (!options_.rule.leader_alone() && electorates_.latest.round != 0) {
    const auto here = present(now);
    // An elected leader before this one needed no quorum to acknowledge.
    const TimePoint since = elected_safe_at_ ? *quorum_since_ : came_over(electorates_, here);
    safe = std::max(safe, safe_to_form(electorates_, here, since, times_.lease));
  }
  if (now < safe) {
    voice_.say_when_changed(kEventRoundWaiting, "nodes of the last round may still run elsewhere");
    return wake(safe);
  }
  // Whom it followed before may have begun with a node that came over, unless that one is gone.
  const bool has_rival = uncertain_ || formed_ == electorates_.latest.key();
  if (has_rival && !elected_safe_at_ && !options_.rule.leader_alone() && !binds(electorates_)) {
    if (const TimePoint over = rival_over(nodes_, electorates_, times_.lease); now < over) {
      voice_.say_when_changed(kEventRoundWaiting, "a leader before this one may have begun");
      return wake(over);
    }
  }
  // Workers of an earlier round, under a leader that is gone: they are being stopped.
  if (nodes_.counts().ending > 0) {
    gathering_since_ = now;  // those who save may have more time than the join timeout
    voice_.say_when_changed(kEventRoundWaiting, "workers of the last round still run");
    return;
  }
  if (everybody_succeeded()) return handle(now, LeaderEvent::kGiveUp);
  if (!settle_failures(now)) return;
  if (now < not_before_) {
    const std::string why = "a pause before the restart";
    voice_.say_when_changed(kEventRoundWaiting, why);
    // All shall know the verdict and the pause, should this leader be lost meanwhile.
    for (LeaderNode* node : free_nodes()) tell_waiting(*node, false, why);
    return wake(not_before_);
  }
  // The next leader could not tell that this node, perhaps all of the last round, has ended: it is
  // no member of the round that it would hand over.
  if (const LeaderNode* own = nodes_.find(own_); own != nullptr && own->leave_by()) {
    voice_.say_when_changed(kEventRoundWaiting, "this leader's node leaves, the next one goes on");
    return;
  }
  if (ending_.stop_asked)
    return (void)voice_.say_when_changed(kEventRoundWaiting, *ending_.stop_asked);
  const TimePoint until = gathering_since_ + options_.join_timeout;
  const std::vector<LeaderNode*> free = free_nodes();
  joiners_ = free;
  std::erase_if(joiners_, [now](const LeaderNode* node) { return node->health.is_out(now); });
  std::vector<Joiner> joiners;
  joiners.reserve(joiners_.size());
  FormerSeats seats(electorates_);
  for (const LeaderNode* node : joiners_) {
    const bool alone = options_.rule.leader_alone() && node->incarnation() == own_;
    joiners.push_back({node->join.identity, seats.of(*node), alone ? 0 : node->join.node_rank,
                       node->join.local_world_size, node->join.role,
                       std::min(node->joined_at, until)});
  }
  decision_ = decide_round(now, joiners, history(now), options_);
  if (decision_.members.empty()) decision_.reason += unfit_text(nodes_, now);
  if (const auto back = next_fit(nodes_, now)) wake(*back);
  if (!decision_.members.empty() && may_be_partial(now) && others_asked(now)) {
    return handle(now, LeaderEvent::kRoundFormed);
  }
  if (decision_.members.empty()) look_for_others(now);
  const bool starting = electorates_.latest.round == 0 && now < began_ + kToCome;
  if (starting) {
    wake(began_ + kToCome);
  } else {
    voice_.say_when_changed(kEventRoundWaiting, decision_.reason);
  }
  handle(now, decision_.last_call ? LeaderEvent::kEnough : LeaderEvent::kNotEnough);
  if (decision_.wake_at) wake(*decision_.wake_at);
  for (LeaderNode* node : free) tell_waiting(*node, false, decision_.reason);
  // The join timeout is for the least that will do: with these, waiting for more ends by itself.
  if (decision_.last_call || !decision_.members.empty()) return;
  if (now < until) return wake(until);
  // Who is listed and missing is told with its reason, where that is known.
  std::vector<std::string> expected;
  if (missing_.empty()) expected = options_.expected_nodes;
  if (options_.known_nodes) expected = missing_ranks(nodes_, options_.max_nodes);
  std::string reason =
      fmt::format("no round within {}: {}; {}", format_duration(options_.join_timeout),
                  decision_.reason, who_is_here(nodes_, electorates_.latest, expected));
  if (!missing_.empty()) reason += "; " + missing_;
  if (!ending_.text.empty())
    reason += fmt::format("; round {} ended: {}", electorates_.latest.round, ending_.text);
  if (!misfit_.empty()) reason += "; refused: " + misfit_;
  // That nodes do not come is their fault; those that came were told of another job.
  end_ = JobEnd{false, misfit_.empty() ? kExitUnavailable : kExitConfig, std::move(reason),
                std::nullopt};
  handle(now, LeaderEvent::kGiveUp);
}

// `succeeded`: how many nodes of the round.
bool LeaderCore::job_succeeded(int succeeded) const {
  if (succeeded == last_size_) return true;
  // What failed, left or was lost since then is missed by nobody.
  const int busy =
      nodes_.counts().in(NodeProgress::kStarted) + nodes_.counts().in(NodeProgress::kEnding);
  if (ending_.decision) return ending_.decision->stops || busy == 0;
  if (options_.rule.decides == Decides::kEveryNode) return false;
  int awaited = 0;
  for (int rank = 0; rank < last_size_; ++rank) awaited += options_.rule.counts(rank) ? 1 : 0;
  const auto decided = std::ranges::count_if(nodes_, [this](const LeaderNode* node) {
    return node->rank() >= 0 && options_.rule.counts(node->rank()) &&
           node->progress() == NodeProgress::kSucceeded;
  });
  return decided >= awaited;
}

// After a take-over: the last round may have ended well under the former leader.
bool LeaderCore::everybody_succeeded() {
  const auto& seats = electorates_.latest.seats;
  bool all = !seats.empty();
  for (size_t rank = 0; all && !ending_.decision && rank < seats.size(); ++rank) {
    if (!options_.rule.counts(static_cast<int>(rank))) continue;
    const LeaderNode* node = nodes_.find(seats[rank].incarnation);
    all =
        seats[rank].succeeded || (node != nullptr && node->progress() == NodeProgress::kSucceeded);
  }
  if (all) end_ = success(options_, ending_, static_cast<int>(seats.size()));
  return all;
}

void LeaderCore::watch_round(TimePoint now) {
  if (nodes_.counts().leaving > 0 && watch_leavers(now)) return;
  const int gone = electorates_.latest.gone_after_success();
  const int nodes = gone + nodes_.counts().in_any();
  const int succeeded = gone + nodes_.counts().in(NodeProgress::kSucceeded);
  const int started = succeeded + nodes_.counts().in(NodeProgress::kStarted);
  if (state_ == LeaderState::kAssigned) {
    if (started == last_size_) handle(now, LeaderEvent::kAllStarted);
    return;
  }
  if (job_succeeded(succeeded)) {
    end_ = success(options_, ending_, succeeded);
    return handle(now, LeaderEvent::kAllSucceeded);
  }
  if (!electorates_.latest.confirmed) confirm_round(now);
  if (ending_.decision) return;
  // A change of the size waits until those that leave have saved: the round ends then anyway.
  if (succeeded == 0 && nodes_.counts().leaving == 0) watch_size(now, nodes);
}

// True: the round is over.
bool LeaderCore::watch_leavers(TimePoint now) {
  for (const LeaderNode* node : nodes_) {
    if (node->rank() < 0 || !node->leave_by() || node->progress() == NodeProgress::kSucceeded)
      continue;
    if (now >= *node->leave_by() || node->progress() != NodeProgress::kStarted) {
      break_round(now, BreakCause::kPreempted, end_text(*node));
      return true;
    }
    wake(*node->leave_by());
  }
  return false;
}

void LeaderCore::run(TimePoint now) {
  confirm_round(now);
  for (LeaderNode* node : nodes_)
    if (node->rank() >= 0) node->health.found_fit();
  voice_.log(log::Level::kInfo, kEventRoundRunning, round_text(electorates_.latest, decision_),
             electorates_.latest.round);
}

// `since`: when it happened; none = now.
void LeaderCore::break_round(TimePoint now, BreakCause cause, std::string reason,
                             std::optional<TimePoint> since) {
  dirty_ = true;
  // But for workers that were told to save: they have ended or will, and the leader must say so.
  const bool decided = ending_.decision && cause != BreakCause::kPreempted;
  if (decided && state_ == LeaderState::kRunning) return;
  const bool explains = explains_failures(cause) && ending_.cause == BreakCause::kFailure;
  if (ending_.cause == BreakCause::kNone) {
    ending_.fault = std::min(since.value_or(now), now);
    ending_.known = cause == BreakCause::kPreempted ? ending_.leaving_since.value_or(now) : now;
    if (cause == BreakCause::kPreempted) ending_.fault = ending_.known;
  }
  if (ending_.cause == BreakCause::kNone || explains) {
    ending_.cause = cause;
    ending_.text = std::move(reason);
  }
  handle(now, LeaderEvent::kRoundBroken);
}

void LeaderCore::stop_round(TimePoint now) {
  voice_.log(log::Level::kWarning, kEventRoundBroken, ending_.text, electorates_.latest.round);
  Duration grace = options_.stop_grace;
  const bool lost = ending_.cause == BreakCause::kLost || ending_.cause == BreakCause::kUnfit;
  if (lost) grace = options_.lost_grace;
  if (ending_.cause == BreakCause::kPreempted) grace = std::min(grace, ending_.leave_grace);
  ending_.all_leave = all_leave(ending_, electorates_.latest, last_size_);
  for (LeaderNode* node : nodes_) {
    if (node->rank() < 0 || node->progress() == NodeProgress::kIdle) continue;
    send(*node, Stop{electorates_.latest.round, to_ms(grace), ending_.text, ending_.all_leave});
    // Its workers end because of that, whatever becomes of its link. A node that was out of touch
    // for long may have killed them before, which explains why others failed.
    const bool runs = node->link() && now - node->in_touch < times_.fence / 2;
    if (runs && node->progress() != NodeProgress::kSucceeded)
      node->set_progress(NodeProgress::kEnding);
  }
}

void LeaderCore::watch_stop(TimePoint now) {
  const int done = nodes_.counts().in(NodeProgress::kSucceeded);
  const bool alive = nodes_.counts().in_any() > done + nodes_.counts().in(NodeProgress::kIdle);
  if (alive && !ending_.all_leave && all_leave(ending_, electorates_.latest, last_size_)) {
    ending_.all_leave = true;
    // They were stopped already, but for those that save.
    for (const LeaderNode* node : nodes_) {
      if (node->rank() >= 0 && node->progress() == NodeProgress::kEnding)
        send(*node, Stop{electorates_.latest.round, 0, ending_.text, true});
    }
  }
  if (alive) return;
  const int succeeded = electorates_.latest.gone_after_success() + done;
  if (job_succeeded(succeeded)) {
    end_ = success(options_, ending_, succeeded);
    return handle(now, LeaderEvent::kAllSucceeded);
  }
  handle(now, LeaderEvent::kAllStopped);
}

void LeaderCore::finish(TimePoint now) {
  MUSTER_CHECK(end_.has_value());
  end_->counts = changes_.at_end(electorates_.latest, nodes_, end_->success);
  unused_.begin(options_, electorates_.latest, nodes_);
  for (const LeaderNode* node : nodes_) send(*node, unused_.end_for(*node, aged(now, *end_)));
  linger_until_ = now + times_.lease;
}

// Whoever heard the outcome says goodbye. The others get a lease to come and ask: a node that finds
// nobody within its lease would take the rest for dead and begin the job anew.
void LeaderCore::linger(TimePoint now) {
  const auto& seats = electorates_.latest.seats;
  const bool all_told = nodes_.empty() && std::all_of(seats.begin(), seats.end(),
                                                      [](const auto& seat) { return seat.gone; });
  if (!all_told && now < *linger_until_) return wake(*linger_until_);
  if (stepped_down_) return;
  stepped_down_ = true;
  voice_.put(leader_output::Finished{end_->success, end_->exit_code, end_->reason});
}

}  // namespace muster::rendezvous
