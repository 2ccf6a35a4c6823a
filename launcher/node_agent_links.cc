// A NodeAgent and the nodes that may lead: what its member asks of the links, what they tell it,
// and what happens when the list of candidates turns out to be another one.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "launcher/node_agent.h"
#include "rendezvous/leader_search.h"

namespace muster::launcher {

using rendezvous::DialFailure;
using rendezvous::MemberState;

CandidateEvents NodeAgent::candidate_events() {
  return {
      .connected =
          [this](int candidate) {
            member_->on_connected(doors_.loop.now(), candidate);
            wake();
          },
      .failed =
          [this](int candidate, DialFailure failure, const std::string& why) {
            if (etcd_ && failure == DialFailure::kRefused) etcd_->refused();
            if (outcome_) return wake();
            member_->on_dial_failed(doors_.loop.now(), candidate, failure, why);
            wake();
          },
      .closed =
          [this](int candidate, const std::string& why) {
            const bool over = outcome_ || member_->state() == MemberState::kExiting;
            if (!over) member_->on_link_closed(doors_.loop.now(), candidate, why);
            wake();
          },
      .ended = [this] { wake(); },
      .message = [this](int candidate,
                        const rendezvous::Message& message) { take_message(candidate, message); },
      .met_self = [this](int candidate) { met_self(candidate); },
      .connect_self =
          [this](const std::string& name, rendezvous::LinkHandlers handlers) {
            return leader_host_->connect(name, std::move(handlers));
          }};
}

void NodeAgent::take_message(int candidate, const rendezvous::Message& message) {
  if (etcd_ && std::holds_alternative<rendezvous::Welcome>(message)) etcd_->linked();
  member_->on_message(doors_.loop.now(), candidate, message);
  // A node whose workers had succeeded learns here that the round is over.
  if (std::holds_alternative<rendezvous::Stop>(message) && !group_.alive()) store_->hold();
  wake();
}

// A service stands for nodes that are not known yet: nobody is dialled before they are. Through
// etcd it is asked each time who leads.
void NodeAgent::dial(int candidate) {
  if (etcd_ && !leader_host_->leading()) return etcd_->find();
  if (candidates_.awaits_service()) return refresh_candidates();
  links_->dial(candidate);
}

// The leader here asks before a round for which it needs nobody else. Where the list may have
// changed since the nodes of a running round read it, all who may lead may be new: so the others
// are asked as well, unless all are here.
void NodeAgent::ask_candidates(const rendezvous::leader_output::AskCandidates& question) {
  const auto joined = leader_host_->nodes();
  std::vector<rendezvous::Candidate> others;
  if (!question.all_here && candidates_.can_change() && !etcd_)
    others = rendezvous::not_joined(candidates_.everyone(), joined);
  guide_->ask(std::move(others), rendezvous::places_of(joined),
              [this, question](const std::optional<rendezvous::Candidate>& leader) {
                if (leader) {
                  add_leader(*leader);
                  leader_host_->told({.question = question.number, .elsewhere = true});
                } else {
                  member_->on_asked(doors_.loop.now(), question);
                }
                wake();
              });
}

// Nobody who may lead by the list does. They may know who does by an older one.
void NodeAgent::ask_for_leader() {
  if (etcd_ || member_->state() != MemberState::kSeeking || guide_->asks()) return;
  std::vector<rendezvous::Candidate> agents = candidates_.current();
  if (const auto own = links_->own()) agents.erase(agents.begin() + *own);
  guide_->ask(std::move(agents), {}, [this](const std::optional<rendezvous::Candidate>& leader) {
    if (leader) add_leader(*leader);
    wake();
  });
}

// Behind those who may lead by the list, for as long as they say so.
void NodeAgent::add_leader(const rendezvous::Candidate& leader) {
  if (next_list_.empty()) next_list_ = candidates_.current();
  next_list_ = rendezvous::with_leader(std::move(next_list_), leader);
  use_next_list();
}

// Who may lead now must be known before anybody is asked. The leader that was followed is one of
// them, whatever the list says: a link that breaks is dialled anew, and who had to find out where
// to would come too late with a short lease (found by the simulator, seeds 942 and 1052 of the jobs
// whose lists change).
void NodeAgent::note_leader() {
  const auto leader = member_->leader();
  if (leader && leader != links_->own() && candidates_.can_change() && !etcd_)
    guide_->follow(candidates_.current().at(static_cast<size_t>(*leader)));
  const bool lost = std::exchange(led_, member_->has_leader()) && !led_;
  if (!lost || outcome_) return;
  // The answer of a service comes later, when this node may lead again: it counts after that. Who
  // always leads in vain would otherwise never read it (seed 2755).
  if (candidates_.can_change()) refresh_candidates();
  if (guide_->found()) add_leader(*guide_->found());
  use_next_list();
}

void NodeAgent::met_self(int candidate) {
  const auto own = links_->own();
  // Listed under two names. All dial in the order of the list, so the first one counts.
  const bool again = own && *own < candidate;
  if (again) warn_of_twin(*own, candidate);
  const bool cannot = again || etcd_ || job_.known_nodes || !candidates_.may_lead();
  const rendezvous::SelfDecision self{candidate, "dialling it came back to this agent"};
  if (cannot || !set_candidates(candidates_.current(), self)) {
    member_->on_dial_failed(doors_.loop.now(), candidate, DialFailure::kRefused, "it is this node");
  }
  wake();
}

void NodeAgent::warn_of_twin(int first, int second) {
  const auto names = names_of(candidates_.current());
  std::string twins =
      names.at(static_cast<size_t>(first)) + " and " + names.at(static_cast<size_t>(second));
  if (twins == twin_names_) return;
  twin_names_ = std::move(twins);
  log::warning("discovery.same_node",
               {{"candidates", twin_names_}, {"action", "the first counts; list each node once"}});
}

bool NodeAgent::set_candidates(std::vector<rendezvous::Candidate> candidates,
                               const rendezvous::SelfDecision& self) {
  if (!member_->set_candidates(doors_.loop.now(), names_of(candidates), self.candidate))
    return false;
  log::info("discovery.changed",
            {{"candidates", join(names_of(candidates), ",")}, {"self", self.reason}});
  links_->set_candidates(candidates, self.candidate);
  candidates_.adopt(std::move(candidates));
  return true;
}

void NodeAgent::refresh_candidates() {
  candidates_.refresh([this](ListAnswer answer) { list_refreshed(std::move(answer)); });
}

void NodeAgent::list_refreshed(ListAnswer answer) {
  if (outcome_) return;
  if (!answer.candidates.empty()) {
    if (!member_->has_leader())
      answer.candidates = rendezvous::with_leader(std::move(answer.candidates), guide_->found());
    const bool news = answer.candidates != next_list_;
    next_list_ = std::move(answer.candidates);
    // The leader that somebody else told of is on no list.
    auto current = candidates_.current();
    const bool added = current.size() > rendezvous::kLeadersOfHosts;
    if (added && current.back() == guide_->found()) current.pop_back();
    if (news && member_->has_leader() && next_list_ != current) {
      log::info("discovery.next", {{"candidates", join(names_of(next_list_), ",")},
                                   {"action", "counts when the leader is lost"}});
    }
  } else if (candidates_.awaits_service()) {
    links_->note(0, answer.state);
    member_->on_dial_failed(doors_.loop.now(), 0, DialFailure::kNoName, answer.problem);
  } else if (!answer.problem.empty() && answer.problem != list_problem_) {
    log::warning("discovery.list_failed",
                 {{"error", answer.problem}, {"action", "the last list that was read stays"}});
  }
  list_problem_ = answer.problem;
  use_next_list();
  if (candidates_.can_change() && !candidates_.awaits_service()) ask_for_leader();
  wake();
}

// With a leader the list does not matter: where it leads to would be the same leader. Numbers mean
// the list in use, so it changes as a whole, and while nobody is followed.
void NodeAgent::use_next_list() {
  if (next_list_.empty() || next_list_ == candidates_.current()) return;
  if (member_->has_leader() || member_->state() == MemberState::kExiting) return;
  const uint16_t port = store_->address().port;
  auto self = candidates_.find_self(next_list_, port);
  // Nobody would find us there.
  if (self.candidate && next_list_.at(static_cast<size_t>(*self.candidate)).port != port)
    self = {std::nullopt, self.reason + ", but listens on another port"};
  (void)set_candidates(next_list_, self);
}

// While no leader is known: say who is missing, and look whether the list has changed. A file is
// looked at always: who may lead next must be known when the leader is lost.
void NodeAgent::seek() {
  const bool seeking = member_->state() == MemberState::kSeeking;
  links_->set_waiting(seeking && !etcd_);
  const bool asks = seeking && candidates_.can_change() && !candidates_.awaits_service();
  if (!asks && !candidates_.is_file()) return refresh_.reset();
  const Duration pause = member_->has_leader() ? kListWatch : kListRefresh;
  const TimePoint next = doors_.loop.now() + pause;
  if (refresh_.is_active() && refresh_at_ <= next) return;
  refresh_at_ = next;
  refresh_ = doors_.loop.at(next, [this] { refresh_candidates(); });
}

}  // namespace muster::launcher
