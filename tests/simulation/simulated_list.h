// What the simulator keeps of a list of nodes that changes (a host file, a headless service): which
// nodes it names at what time, what one node has read of it, and who may lead by that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "rendezvous/finding/host_list.h"

namespace muster::simulation {

/// Dice for addresses and for what is read when, so that the faults of a seed stay the same.
inline constexpr uint64_t kListDice = 0x6c6973746564;

/// What somebody knows of a leader, or of a round without one. As launcher::LeaderGuide::Heard.
struct Heard {
  std::optional<rendezvous::Candidate> leader = {};
  bool remembers = false;
};
using Guided = std::function<void(const Heard& heard)>;

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

/// One node's, as launcher/agent/node_agent_links.cc has it.
struct NodeList {
  std::vector<rendezvous::Candidate> current;   ///< candidate numbers mean places in it
  std::vector<rendezvous::Candidate> read;      ///< used once no leader is known; empty = no news
  std::vector<rendezvous::Candidate> told;      ///< by an agent of the job; counts before that
  std::vector<rendezvous::Candidate> everyone;  ///< of a service, as read last
  std::optional<int> own;                       ///< its own place in `current`
  std::set<uint64_t> unheard;  ///< agents that know of the job and did not answer the last question
  bool awaits = false;         ///< addresses of the service; nobody is known yet
  TimePoint all_until;         ///< so long all addresses are waited for
  uint64_t refresh = 0;        ///< that is awaited, as the next two; 0 = none
  uint64_t lookup = 0;
  uint64_t question = 0;
};

}  // namespace muster::simulation
