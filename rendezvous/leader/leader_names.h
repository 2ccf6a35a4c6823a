// What a leader calls itself, and its job. Part of the inside of Leader.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

/// What a job without a run id is called. Its first leader makes the name; each node brings it to
/// the next one.
class JobName {
 public:
  /// A node of the round `known` brings it. Where nodes say different ones, the newest round
  /// counts.
  void learn(const std::string& brought, RoundKey known) {
    if (brought.empty() || (!name_.empty() && known <= known_)) return;
    name_ = brought;
    known_ = known;
  }
  /// As all nodes of `round` are told it. `incarnation`: of the leader's agent, which no other has.
  const std::string& settle(uint64_t incarnation, RoundKey round) {
    if (name_.empty()) name_ = fmt::format("job-{:012x}", incarnation & 0xffff'ffff'ffff);
    known_ = round;
    return name_;
  }

 private:
  std::string name_;
  RoundKey known_;
};

struct LeaderNames {
  std::string node;     ///< the leader's own
  std::string leaders;  ///< as in Welcome
  JobName job = {};
};

}  // namespace muster::rendezvous
