#include "launcher/agent/finding/candidate_links.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "rendezvous/wire/control_link.h"

namespace muster::launcher {

namespace {

using rendezvous::Candidate;
using rendezvous::DialFailure;
using rendezvous::Reachability;

DialFailure failure_of(Reachability state) {
  switch (state) {
    case Reachability::kNoName:
    case Reachability::kFewAddresses:
      return DialFailure::kNoName;
    case Reachability::kRefused:
      return DialFailure::kRefused;
    case Reachability::kRejected:
      return DialFailure::kRejected;
    case Reachability::kDnsSilent:
    case Reachability::kDnsFailed:
    case Reachability::kUnreachable:
    case Reachability::kNoAnswer:
    case Reachability::kForeign:
    case Reachability::kUnasked:
    case Reachability::kUnheard:
    case Reachability::kNotJoined:
    case Reachability::kReached:
      break;
  }
  return DialFailure::kNoAnswer;
}

bool is_own_answer(const rendezvous::Message& message) {
  const auto* refuse = std::get_if<rendezvous::Refuse>(&message);
  return refuse != nullptr && refuse->code == rendezvous::RefuseCode::kSelf;
}

Reachability state_of(DialFailure failure) {
  switch (failure) {
    case DialFailure::kRefused:
      return Reachability::kRefused;
    case DialFailure::kNoName:
      return Reachability::kNoName;
    case DialFailure::kRejected:
      return Reachability::kRejected;
    case DialFailure::kNoAnswer:
      break;
  }
  return Reachability::kNoAnswer;
}

}  // namespace

CandidateLinks::CandidateLinks(Loop& loop, Network& network, Resolver& resolver,
                               CandidateLinksSetup setup, CandidateEvents events)
    : loop_(loop),
      network_(network),
      resolver_(resolver),
      setup_(std::move(setup)),
      events_(std::move(events)),
      own_host_(loop, resolver, setup_.local_addr, setup_.local_name) {}

void CandidateLinks::set_candidates(std::vector<Candidate> candidates, std::optional<int> own) {
  for (Entry& entry : links_) {
    if (!entry.leaving && !entry.ended) entry.link->close("the list of candidates has changed");
    entry.leaving = true;
  }
  own_host_.cancel();
  held_.clear();
  candidates_ = std::move(candidates);
  own_ = own;
  discovery_ = std::make_unique<rendezvous::Discovery>(loop_, resolver_, network_, candidates_);
  if (own_) discovery_->set_state(*own_, Reachability::kReached);
  if (waiting_until_) discovery_->begin_waiting(*waiting_until_);
}

void CandidateLinks::set_waiting(bool waiting) {
  if (waiting == waiting_until_.has_value()) return;
  if (waiting) {
    waiting_until_ = loop_.now() + setup_.join_timeout;
    discovery_->begin_waiting(*waiting_until_);
  } else {
    waiting_until_.reset();
    discovery_->end_waiting();
  }
}

// The leader is told where this node is when it joins. Nobody is told before that a candidate does
// not answer, for none was asked: the member's join timeout ends the wait.
void CandidateLinks::dial(int candidate) {
  held_.push_back(candidate);
  own_host_.when_named(candidates_, [this] {
    for (const int held : std::exchange(held_, {})) connect(held);
  });
}

void CandidateLinks::connect(int candidate) {
  if (candidate == own_) return dial_self(candidate);
  discovery_->dial(candidate, [this, candidate](rendezvous::DialAnswer answer) {
    if (answer.state == Reachability::kReached) return reached(candidate, std::move(answer));
    events_.failed(candidate, failure_of(answer.state), answer.reason);
  });
}

void CandidateLinks::reached(int candidate, rendezvous::DialAnswer answer) {
  note(candidate, Reachability::kUnheard);
  const auto own_end = network_.local_address(answer.socket.get());
  Entry& entry = add(candidate);
  if (own_end) entry.own_host = own_end->host;
  entry.link =
      rendezvous::ControlLink::greet(loop_, std::move(answer.socket), answer.address.to_string(),
                                     setup_.tls, handlers_of(entry.number));
}

// Our own leader wants to know where other nodes reach us.
void CandidateLinks::dial_self(int candidate) {
  own_host_.guess(candidates_.at(static_cast<size_t>(candidate)).host,
                  [this, candidate] { connect_self(candidate); });
}

void CandidateLinks::connect_self(int candidate) {
  const uint64_t number = next_number_;
  auto link = events_.connect_self(candidates_.at(static_cast<size_t>(candidate)).to_string(),
                                   handlers_of(number));
  if (!link) return events_.failed(candidate, DialFailure::kRefused, "this node does not lead");
  add(candidate).link = std::move(link);
}

CandidateLinks::Entry& CandidateLinks::add(int candidate) {
  Entry& entry = links_.emplace_back();
  entry.number = next_number_++;
  entry.candidate = candidate;
  return entry;
}

rendezvous::LinkHandlers CandidateLinks::handlers_of(uint64_t number) {
  return {.on_open =
              [this, number] {
                Entry* entry = link_numbered(number);
                if (entry == nullptr) return;
                entry->open = true;
                if (!entry->leaving) events_.connected(entry->candidate);
              },
          .on_message =
              [this, number](const rendezvous::Message& message) {
                Entry* entry = link_numbered(number);
                if (entry == nullptr || entry->leaving) return;
                if (!std::exchange(entry->heard, true))
                  note(entry->candidate, Reachability::kReached);
                if (is_own_answer(message)) return met_self(entry->candidate);
                events_.message(entry->candidate, message);
              },
          .on_closed =
              [this, number](const Error& error) {
                if (Entry* entry = link_numbered(number)) ended(*entry, error);
              }};
}

// Who answers tells it, not where: there may be a service or an address translation in front.
void CandidateLinks::met_self(int candidate) {
  close(candidate, "this agent itself");
  events_.met_self(candidate);
}

void CandidateLinks::ended(Entry& entry, const Error& error) {
  entry.ended = true;
  if (entry.leaving) return events_.ended();
  const DialFailure failure = rendezvous::dial_failure(error);
  // How a leader of our own ends is nothing that makes this node missing.
  if (entry.candidate != own_)
    note(entry.candidate, error.os_errno == EPROTO ? Reachability::kForeign : state_of(failure));
  if (entry.open) return events_.closed(entry.candidate, error.text);
  events_.failed(entry.candidate, failure, error.text);
}

void CandidateLinks::send(int candidate, rendezvous::Message message) {
  Entry* entry = link_to(candidate);
  if (entry == nullptr || !entry->open) return;
  if (auto* join = std::get_if<rendezvous::Join>(&message); join != nullptr && join->host.empty())
    join->host = candidate == own_ ? own_host_.as_leader() : own_host_.on_link(entry->own_host);
  entry->link->send(message);
}

void CandidateLinks::note(int candidate, Reachability state) {
  discovery_->set_state(candidate, state);
}

std::optional<std::string> CandidateLinks::peer(int candidate) {
  const Entry* entry = link_to(candidate);
  if (entry == nullptr || !entry->open) return std::nullopt;
  return entry->link->peer();
}

void CandidateLinks::close(int candidate, const std::string& reason) {
  discovery_->cancel(candidate);
  std::erase(held_, candidate);
  Entry* entry = link_to(candidate);
  if (entry == nullptr) return;
  if (entry->open && !entry->heard && candidate != own_) note(candidate, Reachability::kForeign);
  entry->leaving = true;
  entry->link->close(reason);
}

void CandidateLinks::close_all(const std::string& reason) {
  for (size_t i = 0; i < candidates_.size(); ++i) close(static_cast<int>(i), reason);
}

void CandidateLinks::sweep() {
  std::erase_if(links_, [](const Entry& entry) { return entry.ended; });
}

CandidateLinks::Entry* CandidateLinks::link_numbered(uint64_t number) {
  const auto found = std::find_if(links_.begin(), links_.end(),
                                  [number](const Entry& entry) { return entry.number == number; });
  return found == links_.end() ? nullptr : &*found;
}

CandidateLinks::Entry* CandidateLinks::link_to(int candidate) {
  const auto found = std::find_if(links_.begin(), links_.end(), [candidate](const Entry& entry) {
    return entry.candidate == candidate && !entry.leaving && !entry.ended;
  });
  return found == links_.end() ? nullptr : &*found;
}

}  // namespace muster::launcher
