// HttpServer: answers requests over connections that somebody else has accepted, one request on
// each. Every connection goes on by itself; whoever is slow or silent holds up nobody. A reply may
// be a stream, as that of server-sent events: more of it is pushed for as long as its client stays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/http_call.h"
#include "base/line_budget.h"
#include "base/loop.h"
#include "base/strangers.h"

namespace muster {

/// From its arrival until a request is complete and its reply taken. A stream has no such limit.
inline constexpr Duration kHttpCallTime = std::chrono::seconds(10);
/// What a stream's client has not taken yet. One with more is dropped: it asks again.
inline constexpr size_t kMaxStreamBacklogBytes = 1 << 20;

class HttpServer {
 public:
  using Answer = std::function<HttpReply(const HttpCall& call)>;

  /// `loop` is borrowed. `answer` is called from the loop. At most `most` clients at a time; the
  /// oldest goes for a new one, also that of a stream.
  HttpServer(Loop& loop, size_t most, Answer answer);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// A connected, non-blocking stream socket. Who breaks the protocol or a limit is told so (400,
  /// 413, 431) and dropped with a `http.client_dropped` line.
  void adopt(Arrival arrival);
  /// More of a stream, by the number of its call. False: that client is gone, and nothing was sent.
  bool push(uint64_t client, std::string_view bytes);
  /// Closes one connection, if it is there. Not from within the answer to it.
  void close(uint64_t client);
  /// Closes all connections.
  void clear();
  [[nodiscard]] size_t clients() const { return clients_.size(); }

 private:
  struct Client;

  void on_ready(uint64_t id, Ready ready);
  void take(uint64_t id, std::string_view bytes);
  void answer(uint64_t id);
  void refuse(uint64_t id, const Error& why);
  void flush(uint64_t id);
  void tell(uint64_t id, const Error& why);
  void drop(uint64_t id, const Error& why);

  Loop& loop_;
  const size_t most_;
  Answer answer_;
  std::map<uint64_t, std::unique_ptr<Client>> clients_;  // the oldest first
  uint64_t next_id_ = 1;
  LineBudget lines_;
  std::array<char, 16384> received_;  // scratch, shared by all
};

}  // namespace muster
