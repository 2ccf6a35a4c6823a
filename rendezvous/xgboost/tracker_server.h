// TrackerServer: the connections of XGBoost's tracker. Reads what workers say, asks TrackerGroup
// who joins, gives them their places. Each connection goes on by itself: nobody waits for another
// one but in a join. It does not listen (JobPort does) and never resolves a name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/line_budget.h"
#include "base/loop.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "rendezvous/xgboost/short_calls.h"
#include "rendezvous/xgboost/tracker_group.h"
#include "rendezvous/xgboost/tracker_links.h"
#include "rendezvous/xgboost/tracker_protocol.h"

namespace muster::rendezvous {

/// For the magic number and the header. Behind it a worker may take its time: at a shutdown it
/// finishes what is under way first.
inline constexpr Duration kTrackerHeaderTime = std::chrono::seconds(10);
/// Of words that are not complete, all clients together.
inline constexpr size_t kMaxTrackerBytes = 64U << 20;
/// After the end of a process, for what it said last to be read.
inline constexpr Duration kTrackerLastWords = std::chrono::milliseconds(50);
/// Read from one connection in one turn.
inline constexpr size_t kTrackerReadBytes = 16U << 10;
/// A classic worker that cannot dial its peers asks again, at once.
inline constexpr int kMaxLinkRounds = 16;

struct TrackerHooks {
  /// What a worker of the group prints, without a line end behind it.
  std::function<void(const std::string& text)> print;
  /// The workers cannot become a group. Those who waited are closed already. Once, until begin().
  /// Must not call begin() or end().
  std::function<void(const TrackerFailure& failure)> failed;
  /// The address of a worker for the others. `task_id` as the worker says, `source` as it was seen.
  std::function<std::string(const std::string& task_id, const std::string& source)> host;
};

/// Destroying the server closes its connections.
class TrackerServer {
 public:
  /// Both are borrowed and must outlive the server.
  TrackerServer(Loop& loop, Network& network, TrackerHooks hooks);
  ~TrackerServer();
  TrackerServer(const TrackerServer&) = delete;
  TrackerServer& operator=(const TrackerServer&) = delete;

  /// Serves a connected, non-blocking stream socket from now on. One that breaks the protocol or a
  /// limit is closed with a `tracker.client_dropped` line; the others never notice.
  void adopt(Arrival arrival);

  /// So many new workers, after the last one of those before is gone. Old connections are closed.
  void begin(int world_size);
  /// Nobody is served any more.
  void end();

  /// The process of that rank has ended. Badly: the others are told. Well: those who wait for it in
  /// a join are closed, and this says so. Agents of other nodes tell it by a connection
  /// (encode_ended()); TrackerHooks::failed hears of it then.
  std::optional<TrackerFailure> worker_ended(int rank, bool success);

  [[nodiscard]] size_t clients() const { return clients_.size(); }

 private:
  struct Client;

  void on_ready(TrackerClient id, Ready ready);
  void receive(TrackerClient id);
  Status take_messages(TrackerClient id);
  Status take(TrackerClient id, const TrackerMessage& message);
  Status join(TrackerClient id, const tracker::Start& start);
  void tell(Client& client, const TrackerMessage& message);
  Status give_links(TrackerClient id, const tracker::GoodLinks& good);
  void listens(int rank, uint16_t port);
  void group_formed();
  void order_links(int rank);
  void fail(const TrackerFailure& failure);
  void tell_absent();
  void abort_group(int rank);
  void close_joining();
  void queue(TrackerClient id, std::string_view bytes, bool is_last = false);
  void drop(TrackerClient id, const Error& why);
  void remove(TrackerClient id);

  Loop& loop_;
  TrackerHooks hooks_;
  TrackerGroup group_;
  std::optional<TrackerLinks> links_;  // of a classic group that forms
  ShortCalls aborts_;
  std::map<TrackerClient, std::unique_ptr<Client>> clients_;
  TrackerClient next_id_ = 1;
  size_t kept_bytes_ = 0;  // of all clients
  bool failed_ = false;    // hooks_.failed was called
  Timer absent_timer_;
  LineBudget lines_;                              // about those who are dropped
  std::array<char, kTrackerReadBytes> received_;  // scratch, shared by all connections
};

}  // namespace muster::rendezvous
