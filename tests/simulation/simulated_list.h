// What the simulator keeps of a list of hosts that changes (a host file, a headless service): which
// hosts it names at what time, and what one node has read of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "rendezvous/host_list.h"

namespace muster::simulation {

/// Dice for addresses and for what is read when, so that the faults of a seed stay the same.
inline constexpr uint64_t kListDice = 0x6c6973746564;

/// What somebody knows of a leader; none = nothing.
using Guided = std::function<void(const std::optional<rendezvous::Candidate>& leader)>;

/// Which hosts are listed, and were: who reads may get what is no longer true.
class ListedHosts {
 public:
  void put(TimePoint now, const rendezvous::Candidate& host);
  void drop(TimePoint now, const rendezvous::Candidate& host);
  /// As of that time, sorted by address and port.
  [[nodiscard]] std::vector<rendezvous::Candidate> at(TimePoint when) const;

 private:
  std::map<TimePoint, std::vector<rendezvous::Candidate>> since_;
};

/// One node's, as launcher/node_agent_links.cc has it.
struct NodeList {
  std::vector<rendezvous::Candidate> current;   ///< candidate numbers mean places in it
  std::vector<rendezvous::Candidate> next;      ///< as read last, used when no leader is known
  std::vector<rendezvous::Candidate> everyone;  ///< of a service, as read last
  std::optional<int> own;                       ///< its own place in `current`
  std::optional<rendezvous::Candidate> found;   ///< the leader that was told of, or followed, last
  std::set<uint64_t> unheard;  ///< agents that know of the job and did not answer the last question
  bool awaits = false;         ///< addresses of the service; nobody is known yet
  bool had_leader = false;     ///< in the last turn
  TimePoint all_until;         ///< so long all addresses are waited for
  TimePoint refresh_at;
  uint64_t refresh = 0, lookup = 0, question = 0;  ///< those that are awaited; 0 = none
};

}  // namespace muster::simulation
