// Simulator: a whole job in one process: leaders, members and workers as their pure parts under one
// fake clock and one fake network, everything from one seed. Checks the promises of the rendezvous
// after every event. Used by simulation_test.cc and for soaking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace muster::simulation {

/// A mistake put in on purpose, to see that the checks find it.
enum class Bug {
  kNone,
  kNoFence,         ///< agents go on without a leader
  kNoMajority,      ///< nobody tells a new leader of the last round
  kForgetBudget,    ///< nobody tells a new leader what was used up
  kNoSafeWait,      ///< who is elected begins a round at once, and is told of none
  kNoEtcdExpiry,    ///< who was elected leads on when its lease may be over
  kLateStop,        ///< agents say that workers are gone when they were only told to stop
  kAnySize,         ///< the leader does not know which sizes are allowed
  kNoBudget,        ///< the leader restarts for ever
  kUncounted,       ///< it grants restarts within the budget, and forgets that it did
  kArrivalRanks,    ///< ranks follow arrival, not identity
  kLostSizes,       ///< who joins tells the wrong number of its workers
  kWaitForever,     ///< no join timeout
  kOnePlace,        ///< agents of one machine tell neither --node-rank nor a port of their own
  kForgetTarget,    ///< nobody tells a new leader of the target size
  kForgetAges,      ///< nobody tells a new leader how old restarts are
  kSecondLauncher,  ///< a candidate takes who is silent for dead
  kLaterRound,      ///< who joins again tells of a later round than it knows
  kDeafLeader,      ///< who leads does not hear of a new target
  kForgetAsked,     ///< nobody tells a new leader which size was asked for
  kLateWord,        ///< nodes hear of a size that was asked for with their next heartbeat alone
  kStaySmall,       ///< the leader never lets a round grow
  kGrowAtOnce,      ///< it lets it grow as soon as there is somebody
  kGrowOften,       ///< it forgets that a round has just grown
  kLostPart,        ///< it sends the first part of an answer to an exchange alone
  kOldWord,         ///< nodes give to each exchange what they gave to the first
  kCutSaves,        ///< the leader says that all nodes leave when one does
  kAskListedOnly,   ///< a leader asks nobody but those who may lead by its own list
  kForgetStop,      ///< nobody tells a new leader that the job is to end
  kKeepLeaders,     ///< a node keeps the leaders that it read, whatever the job's are
};

struct Scenario {
  uint64_t seed = 1;
  Bug bug = Bug::kNone;
  bool etcd = false;      ///< it elects the leader
  bool lists = false;     ///< nodes are read from a list that changes, wherever that can be
  bool commands = false;  ///< users ask for restarts, and for the end
};

/// `violation` empty = all promises were kept. `end`: how the job ended.
struct Outcome {
  uint64_t seed = 0;
  std::string violation;
  std::string end;
  std::vector<std::string> last_events;
  uint64_t digest = 0;   ///< of all that happened, but for texts: see Digest
  int rounds = 0;        ///< that ran on all their nodes
  int take_overs = 0;    ///< leaders after the first
  int resizes = 0;       ///< sizes that were asked for and taken
  int restarts = 0;      ///< that were asked for and obeyed
  int stops = 0;         ///< the same of ends
  int steps = 0;         ///< that workers made, on each node
  int alone = 0;         ///< workers that started again alone
  int unfit = 0;         ///< health checks that failed
  int exchanges = 0;     ///< that workers got the answer of, on each node
  bool settled = false;  ///< a round ran for so long that its size is the wanted one
  bool success = false;
  bool split = false;  ///< ended early: two parts run, as may be where lists change
};

[[nodiscard]] Outcome simulate(const Scenario& scenario);

}  // namespace muster::simulation
