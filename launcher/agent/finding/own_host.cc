#include "launcher/agent/finding/own_host.h"

#include <algorithm>
#include <utility>

#include "base/interfaces.h"
#include "base/log.h"
#include "base/socket.h"
#include "launcher/agent/finding/own_address.h"

namespace muster::launcher {

using rendezvous::Candidate;

namespace {

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

// Empty: not known.
std::vector<InterfaceAddress> interfaces() {
  auto found = interface_addresses();
  return found ? *std::move(found) : std::vector<InterfaceAddress>{};
}

bool has_address(const std::string& host) {
  const auto all = interfaces();
  return std::ranges::find(all, host, &InterfaceAddress::host) != all.end();
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

}  // namespace

OwnHost::OwnHost(Loop& loop, Resolver& resolver, std::string address, std::string name)
    : loop_(loop), resolver_(resolver), address_(std::move(address)), name_(std::move(name)) {}

void OwnHost::when_named(const std::vector<Candidate>& candidates, std::function<void()> done) {
  if (name_.empty()) return done();
  const bool listed = std::ranges::find(candidates, name_, &Candidate::host) != candidates.end();
  look_up(listed, std::move(done));
}

void OwnHost::look_up(bool listed, std::function<void()> done) {
  retry_.reset();
  lookup_ = resolver_.resolve(
      name_, kOwnLookup, [this, listed, done = std::move(done)](const LookupAnswer& answer) {
        if (take(answer, listed)) return done();
        retry_ = loop_.after(kOwnRetry, [this, listed, done] { look_up(listed, done); });
      });
}

// The own name as that of a candidate need not resolve here: others find this node by it.
bool OwnHost::take(const LookupAnswer& answer, bool listed) {
  OwnName own = own_name(name_, answer, interfaces());
  if (!own.problem.empty() && !listed) {
    if (problem_ != own.problem)
      log::warning("discovery.own_name",
                   {{"error", own.problem}, {"action", "asking again until the join timeout"}});
    problem_ = std::move(own.problem);
    return false;
  }
  problem_.clear();
  if (!own.problem.empty()) return true;
  address_ = std::move(own.address);
  name_.clear();
  return true;
}

void OwnHost::guess(const std::string& candidate, std::function<void()> done) {
  const bool ours = is_loopback(candidate) || has_address(candidate);
  if (!is_known()) host_ = address_.empty() && ours ? candidate : address_;
  if (!host_.empty()) return done();
  lookup_ = resolver_.resolve(
      candidate, kOwnLookup, [this, done = std::move(done)](const LookupAnswer& answer) {
        if (!is_known())
          host_ = reachable_host(answer.addresses, interfaces(), source_towards(answer.addresses));
        done();
      });
}

bool OwnHost::is_known() const { return !host_.empty() && !is_loopback(host_); }

bool OwnHost::learn(const std::string& host) {
  return address_.empty() && std::exchange(host_, host) != host;
}

void OwnHost::cancel() {
  lookup_.reset();
  retry_.reset();
}

const std::string& OwnHost::on_link(const std::string& own_end) const {
  return address_.empty() ? own_end : address_;
}

}  // namespace muster::launcher
