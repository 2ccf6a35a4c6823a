// What the simulator keeps of one node, its workers and one connection.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/round_policy.h"
#include "rendezvous/etcd/etcd_election.h"
#include "rendezvous/leader/leader.h"
#include "rendezvous/member/member.h"
#include "tests/simulation/asked_sizes.h"
#include "tests/simulation/lived_rounds.h"
#include "tests/simulation/simulated_list.h"

namespace muster::simulation {

struct Event {
  TimePoint at;
  uint64_t number;
  uint64_t incarnation;
  int node;  // -1 = the world's own
  std::function<void()> what;
  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : number > other.number;
  }
};

enum class WorkerState { kNone, kPreparing, kStarting, kRunning, kEnding };

/// The local group of one node.
struct Workers {
  WorkerState state = WorkerState::kNone;
  rendezvous::Assign assign;
  uint64_t serial = 0;                // tells timers of an earlier group from this one's
  bool alive = false;                 // some process runs
  bool forgotten = false;             // of a job that nobody could tell the next leader of
  int64_t steps = 0;                  // made
  uint64_t exchanges = 0;             // that are over
  TimePoint save_until{};             // they were told to save
  bool cut = false;                   // a later round runs
  std::optional<TimePoint> failed{};  // one, that may start again alone
};

/// What a leader has begun, for the times that must lie between two growths.
struct LedRounds {
  rendezvous::RoundKey newest{};
  int nodes = 0;
  TimePoint began;       // the newest
  TimePoint grew;        // the first, or the last that followed a growth
  bool growing = false;  ///< it was stopped for that
};

struct Node {
  int place = 0;       // in the job; its index, unless it replaced another
  bool late = false;   // came when others ran
  bool ghost = false;  // was replaced and lives, out of reach
  std::string name;
  std::string host;
  int port = 0;
  int workers_in_all = 1;
  uint64_t incarnation = 0;
  bool up = false;         // the agent's process lives
  bool host_down = false;  // no machine: nothing answers, not even a refusal
  bool fell_with_host = false;
  bool exited = false;        // the agent ended by itself
  bool told_to_end = false;   // somebody wants the job to end, and this agent was told
  bool leads_to_end = false;  // its leader knows of that
  TimePoint frozen_until{};
  TimePoint slow_until{};
  TimePoint calm_since{};  // nothing was done to this node
  TimePoint broken_at{};   // its links, last; of those to its leader it hears nothing
  int side = 0;            // of the network
  rendezvous::JobOptions options;
  [[nodiscard]] rendezvous::EtcdLeader as_leader() const {
    return {name, {host, static_cast<uint16_t>(port)}};
  }
  std::unique_ptr<rendezvous::Member> member;
  std::unique_ptr<elastic::RoundPolicy> policy;
  std::unique_ptr<rendezvous::Leader> leader;
  uint64_t leaders_here = 0;  // so far: answers to dials of an earlier one are dropped
  std::unique_ptr<rendezvous::EtcdElection> election;
  uint64_t etcd_epoch = 0;  // answers to requests of an earlier one are dropped
  NodeList list;            // of those who may lead, if it changes
  Workers workers;
  bool knows = false;         // was told of a round
  LedRounds led;              // by its leader
  std::optional<int> target;  // as this agent knows it
  // at least, as its member and its leader know
  AskedSize told;
  AskedSize leads_with;
  std::vector<std::pair<uint64_t, AskedSize>> acks;  // of this turn: link, and what it told
  std::shared_ptr<LivedRound> lived;         // the last one that its workers were started in
  std::map<int, uint64_t> candidate_links;   // candidate -> link
  std::map<int, uint64_t> dials;             // candidate -> the last one, unless it was given up
  std::deque<std::function<void()>> asleep;  // events that wait for the thaw
  TimePoint tick_at = TimePoint::max();
};

/// Who is found by the name of that place.
[[nodiscard]] inline int newest(const std::vector<Node>& nodes, int place) {
  int index = static_cast<int>(nodes.size()) - 1;
  while (nodes[static_cast<size_t>(index)].place != place) --index;
  return index;
}

/// One direction of a link: what was sent arrives in order.
struct Direction {
  TimePoint last{};                        // when the latest arrives
  std::deque<std::function<void()>> held;  // back, until TCP repeats it
  Duration retry{};
};

struct Link {
  int from = 0;
  int to = 0;
  uint64_t from_incarnation = 0;
  uint64_t to_incarnation = 0;
  int candidate = 0;
  bool from_open = true;
  bool to_open = true;
  bool joined = false;
  Direction to_leader;
  Direction from_leader;
};

}  // namespace muster::simulation
