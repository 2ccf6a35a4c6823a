// Discovery: reaching the other nodes by their candidates, with one state per candidate and a line
// about who is missing while a node waits. Who of them leads is decided elsewhere, from what dial()
// tells.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "rendezvous/finding/dial.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/finding/reachability.h"

namespace muster::rendezvous {

/// Names are looked up afresh in every attempt, as a pod that was replaced has another address;
/// caching is the DNS server's business. That the own name does not resolve yet is one more
/// kNoName.
class Discovery {
 public:
  /// All references are borrowed for the life of the object.
  Discovery(Loop& loop, Resolver& resolver, Network& network, std::vector<Candidate> candidates,
            const DialTimeouts& timeouts = {});
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  /// One attempt to connect to a candidate (an index), see Dial. Its outcome becomes the
  /// candidate's state. A further dial of the same candidate cancels the one under way: its
  /// callback is then never called. `done` may dial again.
  void dial(int candidate, DialCallback done);
  /// No outcome is wanted any more.
  void cancel(int candidate);

  /// What a conversation over the connection came to (kRejected), or that it broke.
  void set_state(int candidate, Reachability state);
  [[nodiscard]] const std::vector<Contact>& states() const { return states_; }

  /// From now on `discovery.waiting` is logged at growing intervals: who is missing, or that all
  /// answer. Not after `until`: the join timeout.
  void begin_waiting(TimePoint until);
  void end_waiting() { waiting_timer_.reset(); }

 private:
  void arm_waiting_timer();
  void log_waiting();

  Loop& loop_;
  Resolver& resolver_;
  Network& network_;
  const std::vector<Candidate> candidates_;
  const DialTimeouts timeouts_;
  std::vector<Contact> states_;
  std::vector<std::unique_ptr<Dial>> dials_;
  Timer waiting_timer_;
  TimePoint waiting_since_;
  TimePoint waiting_until_;
  int waiting_lines_ = 0;
};

/// Numeric hosts in the order of their bytes, IPv4 before IPv6: "10.0.0.9" before "10.0.0.10".
void sort_numeric_hosts(std::vector<std::string>& hosts);

}  // namespace muster::rendezvous
