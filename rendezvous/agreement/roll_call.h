// RollCall: asks nodes whether they still live, by dialling them, a few of a large job at a time
// and again after a while: that one ended proves something only if it is found out soon
// (LeaderSeed::evidence_until). Whoever runs it carries the dials out. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

/// Numbers the dials of one RollCall, none is used twice.
using DialId = uint64_t;
/// How a dial of an agent's job port ended.
enum class DialResult { kConnected, kRefused, kNoAnswer };
/// Connect once to that job port, tell the result and hang up. Deadline: a few seconds.
struct NodeDial {
  DialId dial = 0;
  std::string host;
  int port = 0;
};

/// What a refused dial says of a node.
inline constexpr std::string_view kNothingListens = "ended: nothing listens where its agent did";

class RollCall {
 public:
  /// So many nodes of a call are asked at the same time: as many descriptors are in use.
  static constexpr size_t kAtOnce = 256;

  /// Asks this node now, call or no call.
  [[nodiscard]] NodeDial ask(const RosterEntry& node);
  /// Whom that dial was to; none = nobody, or it was told before.
  [[nodiscard]] std::optional<uint64_t> answered(DialId dial);

  /// The next call is due then; before that the one that is under way goes on.
  void wait_until(TimePoint at) { due_at_ = at; }
  /// When time alone makes it due; none = answers are awaited, or none is to come (max()).
  [[nodiscard]] std::optional<TimePoint> wake_at() const {
    const bool timed = !waits() && due_at_ != TimePoint::max();
    return timed ? std::optional(due_at_) : std::nullopt;
  }
  /// A call is due, and all of the last one were asked.
  [[nodiscard]] bool is_due(TimePoint now) const { return now >= due_at_ && !waits(); }
  /// Some of the call were not asked yet.
  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  /// Calls these, each once.
  void begin(std::vector<RosterEntry> nodes, TimePoint next_due);
  /// The next of the call; none = nobody, or kAtOnce are asked. Who is no longer
  /// `awaited`, by incarnation, is left out.
  using Awaited = std::function<bool(uint64_t)>;
  [[nodiscard]] std::optional<NodeDial> next(const Awaited& awaited = nullptr);
  /// Ends the call. Of who was asked answered() still tells.
  void end() { waiting_.clear(); }

 private:
  std::unordered_map<DialId, uint64_t> asked_;  // incarnations
  std::deque<RosterEntry> waiting_;             // of the call
  DialId next_dial_ = 1;
  TimePoint due_at_;
};

}  // namespace muster::rendezvous
