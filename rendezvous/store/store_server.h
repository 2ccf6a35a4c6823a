// StoreServer: the connections of a job store. Reads requests, applies them to a Store, writes the
// answers once at the end of the turn. It does not listen (JobPort does) and never resolves a name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/line_budget.h"
#include "base/loop.h"
#include "rendezvous/store/store.h"

namespace muster::rendezvous {

/// Everything clients make one store keep: values, waiters, unfinished requests, unsent answers.
/// Far above what jobs use (kilobytes per rank), far below what would endanger the training beside
/// it.
inline constexpr size_t kDefaultStoreMemoryBytes = 1U << 30;
/// Read from one connection in one turn, so that a flood does not hold up the others.
inline constexpr size_t kReadBytesPerTurn = 64U << 10;
/// With this much unsent, a connection's further requests wait until it has read half of it.
inline constexpr size_t kMaxPendingReplyBytes = 1U << 20;

/// For status and metrics.
struct StoreCounters {
  size_t connections = 0;
  size_t waiting_clients = 0;
  size_t keys = 0;
  size_t memory_bytes = 0;  ///< as counted against the limit
  uint64_t requests = 0;    ///< since the start, whole requests only
  uint64_t dropped = 0;     ///< connections we closed because of what they sent
};

/// An idle connection costs no buffers: about 200 bytes, those of the Loop included. Destroying the
/// server closes its connections.
class StoreServer {
 public:
  /// `loop` is borrowed and must outlive the server.
  explicit StoreServer(Loop& loop, size_t memory_limit_bytes = kDefaultStoreMemoryBytes);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Serves a connected, non-blocking stream socket from now on; `first_bytes` were already read
  /// from it (may be empty, may be part of a request). Both dialects. A client that breaks the
  /// protocol or a limit is closed with one `store.client_dropped` line; the others never notice.
  void adopt(UniqueFd connection, std::string_view first_bytes);

  /// A new attempt: wipes all data and closes all connections. Call it after the old workers are
  /// gone and before the new ones start. Not from inside this server's own callbacks.
  void clear();

  [[nodiscard]] StoreCounters counters() const;

 private:
  struct Incoming;
  struct Connection;

  /// What is left of the bytes given to run_requests().
  struct Rest {
    size_t consumed_bytes = 0;
    NeedMore resume;
  };

  void on_ready(ClientId client, Ready ready);
  Status receive(ClientId client);
  Status take_bytes(ClientId client, std::string_view bytes);
  Result<Rest> run_requests(ClientId client, std::string_view bytes, NeedMore resume);
  [[nodiscard]] bool must_hold_back(const ReplyBuffer& reply) const;
  ReplyBuffer& reply_of(ClientId client);
  void queue_flush(ClientId client);
  void flush();
  Status send_replies(ClientId client);
  void update_interest(Connection& connection);
  void put_aside(std::unique_ptr<ReplyBuffer> reply);
  void drop(ClientId client, const Error& why);
  void log_dropped(const Error& why, int connection);
  void remove(ClientId client);
  void release(Connection& connection);

  Loop& loop_;
  MemoryMeter meter_;
  Store store_;
  std::vector<std::unique_ptr<Connection>> connections_;  // index = ClientId
  std::vector<ClientId> free_ids_;
  std::vector<ClientId> unflushed_;
  std::vector<ClientId> flushing_;
  std::vector<std::unique_ptr<ReplyBuffer>> spare_replies_;
  Timer flush_timer_;
  LineBudget lines_;  // about those who are dropped
  uint64_t requests_ = 0;
  uint64_t dropped_ = 0;
  std::array<char, kReadBytesPerTurn> received_;  // scratch, shared by all connections
};

}  // namespace muster::rendezvous
