// StatusPort: tells over HTTP how this node and its job are: /metrics, /status, /healthz, /readyz,
// /events. Read only. It asks its sources at each request and keeps nothing but who reads events.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_port.h"
#include "base/loop.h"
#include "launcher/status_port/event_ring.h"
#include "launcher/status_port/exposition.h"

namespace muster::launcher {

/// Clients at a time: scrapers, probes and those that read events. The oldest goes for a new one.
inline constexpr size_t kMaxStatusClients = 32;
/// Of these, those that read events: one more is told to come later (503).
inline constexpr size_t kMaxEventReaders = 16;
/// A stream in which nothing happens has a comment so often: proxies and readers see that it lives.
inline constexpr Duration kStreamComment = std::chrono::seconds(15);

/// Who knows; called from the loop.
struct StatusSources {
  std::function<std::string()> status;  ///< one JSON object
  std::function<std::string(ExpositionFormat)> metrics;
  std::function<bool()> is_stopping;  ///< told to go, or the job is over here
};

class StatusPort {
 public:
  /// `loop`, `network` and `events` are borrowed; it is the only listener of `events`.
  StatusPort(Loop& loop, Network& network, EventRing& events, StatusSources sources);
  ~StatusPort();
  StatusPort(const StatusPort&) = delete;
  StatusPort& operator=(const StatusPort&) = delete;

  /// As HttpPort::listen().
  Result<Address> listen(const Address& address) { return port_.listen(address); }

 private:
  HttpReply answer(const HttpCall& call);
  HttpReply page(const HttpCall& call, std::string_view path);
  HttpReply events(const HttpCall& call);
  void push(std::string_view text);
  void arm_comment();

  Loop& loop_;
  EventRing& events_;
  StatusSources sources_;
  HttpPort port_;
  std::vector<uint64_t> readers_;  // of events, by HttpCall::client
  Timer comment_;
};

}  // namespace muster::launcher
