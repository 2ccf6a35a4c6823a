// MissingHosts: while a leader gathers nodes and the hosts of all of them are listed, which of
// these have not joined, and why. It asks them as Discovery does, seldom and only the leader does,
// and decides nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "rendezvous/finding/discovery.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

/// In one look; where more are missing none is asked: their names and number must do.
inline constexpr size_t kMaxHostsAsked = 32;
/// The last look is so long before the join timeout that its answers are there: a refusal is, a
/// silent host is found out when this is over.
inline constexpr Duration kLastLook = std::chrono::seconds(4);

/// Of `listed`, by place: whether it is among `nodes`: by its name, by its address and port, or by
/// the address alone where it is listed but once. O(n log n).
[[nodiscard]] std::vector<bool> find_joined(const std::vector<Candidate>& listed,
                                            const std::vector<RosterEntry>& nodes);

/// References are borrowed. The functions are called from the loop alone.
struct MissingHostsSetup {
  Loop& loop;
  Resolver& resolver;
  Network& network;
  Duration join_timeout;
  std::function<std::vector<Candidate>()> listed;  ///< empty = not known
  std::function<std::vector<RosterEntry>()> joined;
  /// "waiting for 2 of 5: worker-3 (refused), worker-4 (NXDOMAIN)"; "" = all are there.
  std::function<void(const std::string& line)> found;
};

class MissingHosts {
 public:
  explicit MissingHosts(MissingHostsSetup setup) : setup_(std::move(setup)) {}
  MissingHosts(const MissingHosts&) = delete;
  MissingHosts& operator=(const MissingHosts&) = delete;

  /// While waiting, `discovery.waiting` is logged at growing intervals, and `found` told. O(1).
  void set_waiting(bool waiting);
  /// A round was formed: the next wait begins with short intervals.
  void forget() { looks_ = 0; }

 private:
  void arm();
  void look();
  void answered(size_t asked, DialAnswer answer);
  void tell();

  MissingHostsSetup setup_;
  bool waiting_ = false;
  int looks_ = 0;
  TimePoint since_;
  std::vector<Candidate> listed_;
  std::vector<Contact> contacts_;  // as listed_
  std::vector<size_t> asked_;      // into listed_, as discovery_ counts them
  std::vector<Address> reached_;   // by asked_; port 0 = was not
  size_t open_ = 0;                // questions
  std::unique_ptr<Discovery> discovery_;
  Timer timer_;
};

}  // namespace muster::rendezvous
