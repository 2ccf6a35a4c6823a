// A NodeAgent and the nodes that may lead: what its member asks of the links, what they tell it,
// and what happens when the list of candidates turns out to be another one.
#include <algorithm>
#include <csignal>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "launcher/agent/finding/port_choice.h"
#include "launcher/agent/node_agent.h"
#include "rendezvous/finding/host_list.h"

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
            if (failure == DialFailure::kRefused && take_port_of(candidate)) return wake();
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

// When this node began, another process had the port by which the others look for it: what is left
// of the job before, or another agent of this machine, which may lead. Now nobody listens there.
// Nobody was told of the port that this node has instead, or its end there would count as its own.
bool NodeAgent::take_port_of(int candidate) {
  if (etcd_ || links_->own() || member_->knows_round() || member_->has_leader()) return false;
  const auto& listed = candidates_.current();
  const auto& place = listed.at(static_cast<size_t>(candidate));
  rendezvous::SelfDecision self = candidates_.find_self(listed, place.port);
  if (self.candidate != candidate || !store_->move_to(door_of(place, listen_host_))) return false;
  self.reason += ", and nobody listens there any more";
  return set_candidates(listed, self);
}

void NodeAgent::take_message(int candidate, const rendezvous::Message& message) {
  if (etcd_ && std::holds_alternative<rendezvous::Welcome>(message)) etcd_->linked();
  member_->on_message(doors_.loop.now(), candidate, message);
  const auto* quit = std::get_if<rendezvous::Quit>(&message);
  if (quit != nullptr && member_->leader() == candidate && stop_.signal == 0) {
    // Where the leader is, it has said so.
    if (!leader_host_->leading()) log::info("job.asked", {{"reason", quit->reason}});
    return request_stop({SIGTERM, 0});
  }
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

// The leader here asks before a first round, and before one after a round of which nobody is left.
// By a list that was read all who may lead may be new, while others run: so the other listed nodes
// are asked as well, unless all are here. As long as one remembers a round and has no leader, the
// question has no answer, and the leader asks again in a lease.
void NodeAgent::ask_candidates(const rendezvous::leader_output::AskCandidates& question) {
  if (question.all_here || !candidates_.is_read()) {
    member_->on_asked(doors_.loop.now(), question);
    return wake();
  }
  guide_->ask(candidates_.everyone(), leader_host_->nodes(),
              [this, question](const LeaderGuide::Heard& heard) {
                if (heard.leader) {
                  told_list_ = {*heard.leader};
                  leader_host_->told({.question = question.number, .elsewhere = true});
                } else if (!heard.remembering) {
                  member_->on_asked(doors_.loop.now(), question);
                }
                wake();
              });
}

void NodeAgent::met_self(int candidate) {
  const auto own = links_->own();
  // Listed under two names. All dial in the order of the list, so the first one counts.
  const bool again = own && *own < candidate;
  if (again) warn_of_twin(*own, candidate);
  const bool cannot =
      again || etcd_ || job_.known_nodes || !candidates_.may_lead() || member_->has_leader();
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
  if (twins == told_.twin_names) return;
  told_.twin_names = std::move(twins);
  log::warning("discovery.same_node", {{"candidates", told_.twin_names},
                                       {"action", "the first counts; list each node once"}});
}

bool NodeAgent::set_candidates(std::vector<rendezvous::Candidate> candidates,
                               const rendezvous::SelfDecision& self) {
  if (!member_->set_candidates(doors_.loop.now(), names_of(candidates), self.candidate,
                               store_->address().port))
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
    read_list_ = std::move(answer.candidates);
  } else if (candidates_.awaits_service()) {
    links_->note(0, answer.state);
    member_->on_dial_failed(doors_.loop.now(), 0, DialFailure::kNoName, answer.problem);
  } else if (!answer.problem.empty() && answer.problem != told_.list_problem) {
    log::warning("discovery.list_failed",
                 {{"error", answer.problem}, {"action", "the last list that was read stays"}});
  }
  told_.list_problem = answer.problem;
  wake();
}

// All nodes of a job have one list of those who may lead it, that of its first leader: whoever
// comes later takes it over, whatever the file or the service says by then.
void NodeAgent::take_leaders(const std::string& leaders) {
  auto list = rendezvous::parse_host_list(leaders, {});
  if (list) told_list_ = std::move(*list);
}

// Numbers mean the list in use, so it changes as a whole, and while nobody is followed.
void NodeAgent::use_new_list() {
  if (member_->knows_round()) read_list_.clear();
  if (member_->leader() || member_->state() == MemberState::kExiting) return;
  const bool told = !told_list_.empty();
  if (!told && member_->has_leader()) return;
  auto list = std::exchange(told ? told_list_ : read_list_, {});
  // What was read before counts for less; what is read later shows that nobody was found there.
  if (told) read_list_.clear();
  if (list.empty() || names_of(list) == names_of(candidates_.current())) return;
  const uint16_t port = store_->address().port;
  auto self = candidates_.find_self(list, port);
  // Nobody would find us there.
  if (self.candidate && list.at(static_cast<size_t>(*self.candidate)).port != port)
    self = {std::nullopt, self.reason + ", but listens on another port"};
  (void)set_candidates(std::move(list), self);
  wake();
}

// While no leader is known: say who is missing. Until this node knows of a round the list is read
// again: pods come one after the other, and names that do not resolve yet are waited for until the
// join timeout. A leader that has formed no round reads on, too: it may lead by an old list, in
// vain.
void NodeAgent::seek() {
  use_new_list();
  const bool seeking = member_->state() == MemberState::kSeeking;
  links_->set_waiting(seeking && !etcd_);
  const bool alone = seeking || leader_host_->leading();
  const bool reads = candidates_.is_read() && alone && !member_->knows_round();
  if (!reads || candidates_.awaits_service()) return refresh_.reset();
  if (!refresh_.is_active())
    refresh_ = doors_.loop.after(kListRefresh, [this] { refresh_candidates(); });
}

}  // namespace muster::launcher
