// RshCalls: the door of an agent (rsh_door.h), the calls that come through it (rsh_relay.h) and the
// connections to other agents that wait for the next call: a call costs no handshake but the first.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/socket.h"
#include "base/tls.h"
#include "mpi/rsh/rsh_door.h"
#include "mpi/rsh/rsh_relay.h"

namespace muster::mpi {

/// At a time. A launcher that starts all daemons itself has one call for each node, as long as the
/// daemon lives. Each call takes two descriptors.
inline constexpr size_t kMaxRshCalls = 8192;
/// Connections that are kept for later calls, in all and to one node. The oldest are closed first.
inline constexpr size_t kMaxIdleRshLinks = 512;
inline constexpr size_t kMaxIdleRshLinksPerNode = 2;
/// So long a connection is kept. The other side keeps it longer (rsh_request.h), so that it is not
/// closed there just when it is taken here.
inline constexpr Duration kRshIdleLink = std::chrono::seconds(60);

/// Borrowed for the life of the calls, but for the strings.
struct RshCallsSetup {
  Loop& loop;
  Network& network;
  const TlsContext* tls;  ///< null = no job secret
  std::string node;       ///< of this agent
  std::string run_id;
  std::string door;  ///< rsh_door_name()
  std::function<PeerAnswer(const std::string& host)> find;
  std::function<void(const std::string& reason)> tell_refused;
  std::function<void(const std::string& reason)> tell_no_node;
};

class RshCalls {
 public:
  /// Opens the door. kOs.
  static Result<std::unique_ptr<RshCalls>> create(RshCallsSetup setup);
  RshCalls(const RshCalls&) = delete;
  RshCalls& operator=(const RshCalls&) = delete;

  /// `find` knows other nodes now. Connections that were kept for later calls are closed.
  void nodes_changed();
  /// Takes no new calls and leaves running ones to their end. `idle` comes from the loop, when
  /// nothing is left.
  void stop(std::function<void()> idle);
  [[nodiscard]] bool empty() const { return relays_.empty(); }
  /// Connections that are kept for later calls.
  [[nodiscard]] size_t idle_links() const { return idle_.size(); }

 private:
  struct IdleLink {
    uint64_t incarnation = 0;  // of the agent at its other end
    std::unique_ptr<RshChannel> channel;
    TimePoint until;
  };

  explicit RshCalls(RshCallsSetup setup);
  Status open();
  void take(UniqueFd connection, Status admitted);
  void remove_ended();
  std::unique_ptr<RshChannel> take_link(const rendezvous::RosterEntry& node,
                                        RshChannelHandlers handlers);
  std::unique_ptr<RshChannel> dial(const rendezvous::RosterEntry& node,
                                   RshChannelHandlers handlers);
  void keep_link(uint64_t incarnation, std::unique_ptr<RshChannel> link);
  void drop_old_links();

  RshCallsSetup setup_;
  RshRelayContext context_;
  std::unique_ptr<RshDoor> door_;
  std::map<uint64_t, std::unique_ptr<RshRelay>> relays_;
  uint64_t next_number_ = 1;
  std::list<IdleLink> idle_;  // in the order in which they end
  std::function<void()> stopped_;
  bool stopping_ = false;
  Timer cleaning_;
  Timer idle_timer_;
};

}  // namespace muster::mpi
