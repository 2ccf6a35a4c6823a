// RshRelay: one call of `muster rsh`, in the agent of the node where it is made. It finds the node
// that is meant and passes the call on to that node's agent, over a connection between agents that
// is kept for the next call. A linear conversation; the life of the command is rsh_request.h's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"
#include "mpi/rsh/rsh_channel.h"
#include "mpi/rsh/rsh_peers.h"

namespace muster::mpi {

/// From the connection to the call.
inline constexpr Duration kRshCallDeadline = std::chrono::seconds(10);
/// For a node that is not there yet but may come.
inline constexpr Duration kRshNodeWait = std::chrono::seconds(60);
/// Messages of a caller that are kept until its command runs. The window of stdin bounds their
/// size.
inline constexpr size_t kMaxEarlyRshMessages = 64;

/// What all relays of an agent borrow, for their lives.
struct RshRelayContext {
  Loop& loop;
  std::string node;  ///< of this agent
  std::string run_id;
  std::function<PeerAnswer(const std::string& host)> find;
  /// A connection to that agent: one that waited, or a new one.
  std::function<std::unique_ptr<RshChannel>(const rendezvous::RosterEntry&, RshChannelHandlers)>
      take_link;
  /// The command on it is over; another may follow.
  std::function<void(uint64_t incarnation, std::unique_ptr<RshChannel>)> keep_link;
  std::function<void(const std::string& reason)> tell_refused;
  std::function<void(const std::string& reason)> tell_no_node;  ///< the job lacks the called node
};

class RshRelay {
 public:
  /// `admitted`: an error is the only answer that the caller gets. `ended` comes once, from the
  /// loop, and may not destroy the relay (soon() may).
  RshRelay(const RshRelayContext& context, UniqueFd connection, Status admitted,
           std::function<void()> ended);
  RshRelay(const RshRelay&) = delete;
  RshRelay& operator=(const RshRelay&) = delete;

  /// Other nodes are there now: a call that waits for its node looks again.
  void nodes_changed();
  /// The agent ends: refuses what has not begun.
  void stop();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void from_caller(RshMessage message);
  void from_link(RshMessage message);
  void look();
  void refuse_host(const std::string& reason);
  void connect();
  void run();
  void check_heard();
  void signal(int number);
  void link_lost(const Error& error);
  void tell_and_end(const RshMessage& last_word);
  void refuse(const std::string& reason, uint8_t code = kRshFailed);
  void caller_lost();

  const RshRelayContext& context_;
  const Status admitted_;
  std::function<void()> over_;
  bool ended_ = false;
  std::optional<rsh::Call> call_;
  std::optional<rendezvous::RosterEntry> node_;  // that was found; none = not yet
  std::vector<RshMessage> early_;                // from the caller, before the connection is there
  bool running_ = false;                         // it was passed on, and has not ended
  std::unique_ptr<RshChannel> caller_;
  std::unique_ptr<RshChannel> link_;
  Timer deadline_;
  Timer return_link_;
};

}  // namespace muster::mpi
