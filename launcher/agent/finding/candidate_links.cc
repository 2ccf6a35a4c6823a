#include "launcher/agent/finding/candidate_links.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "base/interfaces.h"
#include "base/log.h"
#include "launcher/agent/finding/own_address.h"
#include "rendezvous/wire/control_link.h"

namespace muster::launcher {

namespace {

using rendezvous::Candidate;
using rendezvous::DialFailure;
using rendezvous::Reachability;

// The own name is looked up for its address only; without an answer the interfaces tell.
constexpr Duration kOwnLookup = std::chrono::seconds(2);
constexpr Duration kOwnRetry = std::chrono::seconds(1);
// Of networks that no machine is in (RFC 5737, RFC 3849): who would be the source is the default
// route's.
constexpr const char* kElsewhere[] = {"192.0.2.1", "2001:db8::1"};
constexpr uint16_t kDiscardPort = 9;

bool is_loopback(const std::string& host) {
  return parse_numeric_host(host) && Address{host, 0}.is_loopback();
}

bool has_address(const std::string& host) {
  const auto interfaces = interface_addresses();
  return interfaces &&
         std::ranges::find(*interfaces, host, &InterfaceAddress::host) != interfaces->end();
}

// From which address this machine would call `hosts`, as far as they are elsewhere, or anybody.
std::string source_towards(std::vector<std::string> hosts) {
  std::erase_if(hosts, is_loopback);
  hosts.insert(hosts.end(), std::begin(kElsewhere), std::end(kElsewhere));
  for (const std::string& host : hosts) {
    const auto source = source_host({host, kDiscardPort});
    if (source && !is_loopback(*source)) return *source;
  }
  return "";
}

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
      events_(std::move(events)) {}

void CandidateLinks::set_candidates(std::vector<Candidate> candidates, std::optional<int> own) {
  for (Entry& entry : links_) {
    if (!entry.leaving && !entry.ended) entry.link->close("the list of candidates has changed");
    entry.leaving = true;
  }
  own_lookup_.reset();
  own_retry_.reset();
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

void CandidateLinks::dial(int candidate) {
  if (setup_.local_name.empty()) return connect(candidate);
  held_.push_back(candidate);
  find_own_name();
}

// The leader is told where this node is when it joins. Nobody is told before that a candidate does
// not answer, for none was asked: the member's join timeout ends the wait.
void CandidateLinks::find_own_name() {
  own_retry_.reset();
  own_lookup_ =
      resolver_.resolve(setup_.local_name, kOwnLookup, [this](const LookupAnswer& answer) {
        if (!take_own_name(answer)) {
          own_retry_ = loop_.after(kOwnRetry, [this] { find_own_name(); });
          return;
        }
        for (const int candidate : std::exchange(held_, {})) connect(candidate);
      });
}

// The own name as that of a candidate need not resolve here: others find this node by it.
bool CandidateLinks::take_own_name(const LookupAnswer& answer) {
  const auto interfaces = interface_addresses();
  OwnName own = own_name(setup_.local_name, answer,
                         interfaces ? *interfaces : std::vector<InterfaceAddress>{});
  const bool listed = std::any_of(
      candidates_.begin(), candidates_.end(),
      [this](const Candidate& candidate) { return candidate.host == setup_.local_name; });
  if (!own.problem.empty() && !listed) {
    if (own_problem_ != own.problem)
      log::warning("discovery.own_name",
                   {{"error", own.problem}, {"action", "asking again until the join timeout"}});
    own_problem_ = std::move(own.problem);
    return false;
  }
  own_problem_.clear();
  if (!own.problem.empty()) return true;
  setup_.local_addr = std::move(own.address);
  setup_.local_name.clear();
  return true;
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

// Our own leader wants to know where other nodes reach us. Until one of them has joined that is a
// guess, and as long as only loopback is up it is made again.
void CandidateLinks::dial_self(int candidate) {
  const std::string& host = candidates_.at(static_cast<size_t>(candidate)).host;
  const bool ours = is_loopback(host) || has_address(host);
  if (!knows_own_host()) own_host_ = setup_.local_addr.empty() && ours ? host : setup_.local_addr;
  if (!own_host_.empty()) return connect_self(candidate);
  own_lookup_ = resolver_.resolve(host, kOwnLookup, [this, candidate](const LookupAnswer& answer) {
    const auto interfaces = interface_addresses();
    if (!knows_own_host())
      own_host_ = reachable_host(answer.addresses,
                                 interfaces ? *interfaces : std::vector<InterfaceAddress>{},
                                 source_towards(answer.addresses));
    connect_self(candidate);
  });
}

bool CandidateLinks::knows_own_host() const {
  return !own_host_.empty() && !is_loopback(own_host_);
}

bool CandidateLinks::learn_own_host(const std::string& host) {
  return setup_.local_addr.empty() && std::exchange(own_host_, host) != host;
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
  // The address that the leader sees is the one under which its other nodes reach us, too.
  if (auto* join = std::get_if<rendezvous::Join>(&message); join != nullptr && join->host.empty())
    join->host = !setup_.local_addr.empty() ? setup_.local_addr
                 : candidate == own_        ? own_host_
                                            : entry->own_host;
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
