#include "rendezvous/finding/missing_hosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

constexpr int kFirstLookFraction = 3;  // of the join timeout, where that is short

std::string address_of(const std::string& host, int port) {
  return Address{host, static_cast<uint16_t>(port)}.to_string();
}

// What would be a mouthful with a reason for each.
std::string many_line(const std::vector<Contact>& contacts) {
  std::vector<std::string> names;
  size_t missing = 0;
  for (const Contact& contact : contacts) {
    if (contact.state == Reachability::kReached) continue;
    if (++missing <= kMaxNamesInLine) names.push_back(contact.name);
  }
  return fmt::format("waiting for {} of {}: {} and {} more", missing, contacts.size(),
                     join(names, ", "), missing - names.size());
}

}  // namespace

std::vector<bool> find_joined(const std::vector<Candidate>& listed,
                              const std::vector<RosterEntry>& nodes) {
  std::set<std::string, std::less<>> names;
  std::set<std::string, std::less<>> hosts;
  std::set<std::string, std::less<>> addresses;
  for (const RosterEntry& node : nodes) {
    names.insert(node.identity.name);
    names.emplace(first_label(node.identity.name));
    hosts.insert(node.host);
    addresses.insert(address_of(node.host, node.port));
  }
  std::map<std::string_view, int> entries;  // per host, and per label
  for (const Candidate& host : listed) {
    ++entries[host.host];
    if (first_label(host.host) != host.host) ++entries[first_label(host.host)];
  }
  std::vector<bool> joined;
  joined.reserve(listed.size());
  for (const Candidate& host : listed) {
    const bool numeric = parse_numeric_host(host.host).has_value();
    const std::string_view label = numeric ? std::string_view(host.host) : first_label(host.host);
    const bool single = entries[host.host] == 1;
    const bool named =
        !numeric && single &&
        (names.contains(host.host) || (entries[label] == 1 && names.contains(label)));
    joined.push_back(named || addresses.contains(address_of(host.host, host.port)) ||
                     (single && hosts.contains(host.host)));
  }
  return joined;
}

void MissingHosts::set_waiting(bool waiting) {
  if (std::exchange(waiting_, waiting) == waiting) return;
  if (waiting) {
    since_ = setup_.loop.now();
    return arm();
  }
  timer_.reset();
  discovery_.reset();
  open_ = 0;
}

void MissingHosts::arm() {
  const TimePoint now = setup_.loop.now();
  Duration pause = waiting_interval(looks_);
  if (looks_ == 0) pause = std::min(pause, setup_.join_timeout / kFirstLookFraction);
  const TimePoint last = since_ + setup_.join_timeout - kLastLook;
  TimePoint at = now + pause;
  if (now < last) at = std::min(at, last);
  timer_ = setup_.loop.at(at, [this] { look(); });
}

// Whoever did not answer the last look in time is told of as what is known of it.
void MissingHosts::look() {
  if (open_ > 0) tell();
  open_ = 0;
  ++looks_;
  arm();
  listed_ = setup_.listed();
  if (listed_.empty()) return;
  const std::vector<bool> joined = find_joined(listed_, setup_.joined());
  contacts_.clear();
  asked_.clear();
  for (size_t i = 0; i < listed_.size(); ++i) {
    contacts_.push_back(
        {listed_[i].host, joined[i] ? Reachability::kReached : Reachability::kUnasked});
    if (!joined[i]) asked_.push_back(i);
  }
  if (asked_.empty() || asked_.size() > kMaxHostsAsked) return tell();
  std::vector<Candidate> missing;
  missing.reserve(asked_.size());
  for (const size_t host : asked_) missing.push_back(listed_[host]);
  reached_.assign(asked_.size(), Address{});
  open_ = asked_.size();
  discovery_ =
      std::make_unique<Discovery>(setup_.loop, setup_.resolver, setup_.network, std::move(missing));
  for (size_t i = 0; i < asked_.size(); ++i) {
    contacts_[asked_[i]].state = Reachability::kNoAnswer;
    discovery_->dial(static_cast<int>(i),
                     [this, i](DialAnswer answer) { answered(i, std::move(answer)); });
  }
}

// The connection was a question, and ends here.
void MissingHosts::answered(size_t asked, DialAnswer answer) {
  const bool reached = answer.state == Reachability::kReached;
  contacts_[asked_[asked]].state = reached ? Reachability::kNotJoined : answer.state;
  if (reached) reached_[asked] = answer.address;
  if (--open_ == 0) tell();
}

// Nodes have come since they were asked; others joined under another name than the listed one.
void MissingHosts::tell() {
  const std::vector<RosterEntry> nodes = setup_.joined();
  const std::vector<bool> joined = find_joined(listed_, nodes);
  for (size_t i = 0; i < listed_.size(); ++i) {
    if (joined[i]) contacts_[i].state = Reachability::kReached;
  }
  for (size_t i = 0; i < asked_.size() && discovery_; ++i) {
    const bool here = std::ranges::any_of(nodes, [this, i](const RosterEntry& node) {
      return reached_[i].port != 0 && node.host == reached_[i].host &&
             node.port == reached_[i].port;
    });
    if (here) contacts_[asked_[i]].state = Reachability::kReached;
  }
  const bool many = asked_.size() > kMaxHostsAsked;
  asked_.clear();
  const std::string line = many ? many_line(contacts_) : waiting_line(contacts_);
  setup_.found(line);
  if (line.empty()) return;
  log::write(looks_ <= 1 ? log::Level::kInfo : log::Level::kWarning, "discovery.waiting",
             {{"state", line}, {"waited_s", std::lround(to_seconds(setup_.loop.now() - since_))}});
}

}  // namespace muster::rendezvous
