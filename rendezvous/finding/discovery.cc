#include "rendezvous/finding/discovery.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"

namespace muster::rendezvous {

namespace {

// Family and bytes of a numeric host, as text that sorts like the numbers.
std::string sort_key(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return "4" + std::string(reinterpret_cast<const char*>(&v4), sizeof v4);
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return "6" + std::string(reinterpret_cast<const char*>(&v6), sizeof v6);
  }
  return host;
}

}  // namespace

void sort_numeric_hosts(std::vector<std::string>& hosts) {
  std::sort(hosts.begin(), hosts.end(), [](const std::string& one, const std::string& other) {
    return sort_key(one) < sort_key(other);
  });
}

Discovery::Discovery(Loop& loop, Resolver& resolver, Network& network,
                     std::vector<Candidate> candidates, const DialTimeouts& timeouts)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      candidates_(std::move(candidates)),
      timeouts_(timeouts),
      dials_(candidates_.size()) {
  states_.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    states_.push_back({candidate.host, Reachability::kUnasked});
  }
}

void Discovery::dial(int candidate, DialCallback done) {
  const auto index = static_cast<size_t>(candidate);
  dials_.at(index) =
      std::make_unique<Dial>(loop_, resolver_, network_, candidates_.at(index), timeouts_,
                             [this, candidate, done = std::move(done)](DialAnswer answer) {
                               set_state(candidate, answer.state);
                               done(std::move(answer));
                             });
}

void Discovery::cancel(int candidate) { dials_.at(static_cast<size_t>(candidate)).reset(); }

void Discovery::set_state(int candidate, Reachability state) {
  states_.at(static_cast<size_t>(candidate)).state = state;
}

void Discovery::begin_waiting(TimePoint until) {
  // What came of dials before there was a leader says nothing of now.
  for (Contact& contact : states_) {
    if (contact.state != Reachability::kReached) contact.state = Reachability::kUnasked;
  }
  waiting_until_ = until;
  waiting_since_ = loop_.now();
  waiting_lines_ = 0;
  arm_waiting_timer();
}

void Discovery::arm_waiting_timer() {
  waiting_timer_ = loop_.after(waiting_interval(waiting_lines_), [this] { log_waiting(); });
}

// The first line may only mean that pods start one after the other.
void Discovery::log_waiting() {
  if (loop_.now() >= waiting_until_) return;  // that the time is over others say
  std::string line = waiting_line(states_);
  if (line.empty()) line = fmt::format("all {} who may lead answer, and none does", states_.size());
  log::write(waiting_lines_ == 0 ? log::Level::kInfo : log::Level::kWarning, "discovery.waiting",
             {{"state", line},
              {"waited_s", std::lround(to_seconds(loop_.now() - waiting_since_))},
              {"left_s", std::lround(to_seconds(waiting_until_ - loop_.now()))}});
  ++waiting_lines_;
  arm_waiting_timer();
}

}  // namespace muster::rendezvous
