// TrackerGroup: which workers wait to become a group, who is in the group that runs, who has which
// rank. Pure: clients are numbers, connections are tracker_server.h's. One group follows another
// for as long as the workers live; begin() is for new workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rendezvous/xgboost/tracker_protocol.h"

namespace muster::rendezvous {

using TrackerClient = uint64_t;

/// A worker that waits to join, or is in the group.
struct TrackerWorker {
  TrackerClient client = 0;  ///< the connection by which it came
  TrackerWire wire = TrackerWire::kClassic;
  std::string task_id;
  std::string host;         ///< under which the others dial it
  uint16_t port = 0;        ///< kJson
  uint16_t error_port = 0;  ///< 0 = none, or there is nothing more to tell it
  bool has_left = false;    ///< it sent shutdown
  bool is_double =
      false;  ///< waits, but its task id is of one who has not left the group that runs
};

enum class TrackerJoin : uint8_t {
  kWaits,
  kComplete,  ///< it was the last one: workers() is the new group
  kRefused,   ///< it alone is to be closed
  kMixed,     ///< nobody can join: all who wait are closed, this one too
};

/// Why the workers cannot become a group.
struct TrackerFailure {
  int rank = -1;       ///< whose fault it is; -1 = nobody's that has a rank
  std::string reason;  ///< a phrase that fits after "rank 3 failed: "
};

class TrackerGroup {
 public:
  struct Answer {
    TrackerJoin join = TrackerJoin::kWaits;
    TrackerFailure failure = {};                ///< of kRefused and kMixed
    std::vector<TrackerClient> displaced = {};  ///< who waited and must give way to it
  };

  /// New workers, so many of them: nobody waits, nobody is in a group, nobody has ended.
  void begin(int world_size);
  [[nodiscard]] int world_size() const { return world_size_; }

  /// A task id that is a rank of the job is the worker's rank. Others are taken only while there
  /// are none of those: ranks then follow the hosts, and the ids of one host. Two with one id
  /// exclude each other, unless it is no id.
  Answer start(const tracker::Header& header, TrackerWorker worker);
  /// A client that waits is gone.
  void leave(TrackerClient client);
  /// All who wait, who do so no more.
  std::vector<TrackerClient> take_waiting();

  /// By rank; empty = no group runs.
  [[nodiscard]] const std::vector<TrackerWorker>& workers() const { return workers_; }
  [[nodiscard]] TrackerWorker& worker(int rank) { return workers_[static_cast<size_t>(rank)]; }
  /// The worker of the group that says so; null = nobody's word.
  [[nodiscard]] TrackerWorker* find(const tracker::Header& header);

  /// One that find() gave has left: it may join the next group, and is told of no failure.
  void shut_down(TrackerWorker& worker);

  /// The process of that rank has ended well.
  void ended(int rank) { ended_.insert(rank); }
  [[nodiscard]] const std::set<int>& ended() const { return ended_; }
  /// Why those who wait wait in vain: one of the job's workers has ended. None: they do not.
  [[nodiscard]] std::optional<TrackerFailure> deadlock() const;

 private:
  [[nodiscard]] std::optional<int> rank_of(const std::string& task_id) const;
  [[nodiscard]] bool is_in_group(const std::string& task_id) const;
  [[nodiscard]] std::optional<Answer> refusal(const tracker::Header& header, bool is_rank) const;
  void form();

  int world_size_ = 0;
  bool by_rank_ = false;                            // task ids of this attempt are ranks
  std::map<TrackerClient, TrackerWorker> waiting_;  // in the order in which they dialled
  std::map<std::string, TrackerClient> waiting_ids_;
  std::vector<TrackerWorker> workers_;
  std::set<std::string> group_ids_;  // of those of workers_ who have not left
  std::set<int> ended_;
};

}  // namespace muster::rendezvous
