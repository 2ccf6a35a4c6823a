#include "rendezvous/discovery.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
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
                     std::vector<Candidate> candidates, DiscoveryOptions options)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      candidates_(std::move(candidates)),
      options_(std::move(options)),
      dials_(candidates_.size()),
      searches_(candidates_.size()) {
  states_.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    states_.push_back({candidate.host, Reachability::kUnasked});
  }
}

void Discovery::dial(int candidate, DialCallback done) {
  const auto index = static_cast<size_t>(candidate);
  dials_.at(index) =
      std::make_unique<Dial>(loop_, resolver_, network_, candidates_.at(index), options_.timeouts,
                             [this, candidate, done = std::move(done)](DialAnswer answer) {
                               set_state(candidate, answer.state);
                               done(std::move(answer));
                             });
}

void Discovery::cancel(int candidate) {
  dials_.at(static_cast<size_t>(candidate)).reset();
  searches_.at(static_cast<size_t>(candidate)).reset();
}

void Discovery::lookup(int candidate, size_t at_least, LookupCallback done) {
  const auto index = static_cast<size_t>(candidate);
  searches_.at(index) = std::make_unique<Search>();
  searches_[index]->at_least = at_least;
  searches_[index]->done = std::move(done);
  ask(index);
}

void Discovery::ask(size_t candidate) {
  const Duration left = options_.give_up_at - loop_.now();
  const Duration deadline = std::clamp(left, Duration::zero(), options_.timeouts.lookup);
  searches_[candidate]->lookup = resolver_.resolve(
      candidates_[candidate].host, deadline,
      [this, candidate](LookupAnswer answer) { on_addresses(candidate, std::move(answer)); });
}

void Discovery::on_addresses(size_t candidate, LookupAnswer answer) {
  Search& search = *searches_[candidate];
  sort_numeric_hosts(answer.addresses);
  const bool enough = answer.addresses.size() >= std::max<size_t>(search.at_least, 1);
  if (!enough) {
    const Duration delay = retry_delay(++search.failures, options_.jitter());
    set_state(static_cast<int>(candidate), answer.status == LookupStatus::kFound
                                               ? Reachability::kFewAddresses
                                               : state_of_failed(answer.status));
    if (loop_.now() + delay < options_.give_up_at) {
      search.retry = loop_.after(delay, [this, candidate] { ask(candidate); });
      return;
    }
  }
  if (!enough && answer.status == LookupStatus::kFound) {
    answer.status = LookupStatus::kNoName;
    answer.reason = "look up " + candidates_[candidate].host + ": " +
                    std::to_string(answer.addresses.size()) + " of " +
                    std::to_string(search.at_least) + " addresses";
  }
  if (enough) set_state(static_cast<int>(candidate), Reachability::kUnasked);
  const LookupCallback done = std::move(search.done);
  done(std::move(answer));  // may begin another lookup in this one's place
}

void Discovery::set_state(int candidate, Reachability state) {
  states_.at(static_cast<size_t>(candidate)).state = state;
}

void Discovery::begin_waiting() {
  waiting_since_ = loop_.now();
  waiting_lines_ = 0;
  arm_waiting_timer();
}

void Discovery::arm_waiting_timer() {
  waiting_timer_ = loop_.after(waiting_interval(waiting_lines_), [this] { log_waiting(); });
}

void Discovery::log_waiting() {
  const std::string line = waiting_line(states_);
  if (!line.empty()) {
    log::info("discovery.waiting",
              {{"state", line},
               {"waited_s", fmt::format("{:.0f}", to_seconds(loop_.now() - waiting_since_))},
               {"left_s", fmt::format("{:.0f}", to_seconds(options_.give_up_at - loop_.now()))}});
  }
  ++waiting_lines_;
  arm_waiting_timer();
}

}  // namespace muster::rendezvous
