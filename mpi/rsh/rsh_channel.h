// RshChannel: messages of rsh_protocol.h over a connection, in TLS with the job's key or, without a
// secret, in the clear. It knows nothing of commands. The same class on both sides.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "base/tls.h"
#include "mpi/rsh/rsh_protocol.h"

namespace muster::mpi {

/// From the dial, or from the accepted greeting, to the open channel.
inline constexpr Duration kRshOpenDeadline = std::chrono::seconds(10);
/// For the last words to leave and for the other side to close.
inline constexpr Duration kRshLinger = std::chrono::seconds(10);
inline constexpr size_t kRshReadBytesPerTurn = 64 << 10;

/// Always from the loop; none may destroy the channel (soon() may). All must be set.
struct RshChannelHandlers {
  std::function<void()> on_open;  ///< once; before it nothing may be sent
  std::function<void(RshMessage)> on_message;
  /// Once, and the last: the connection is over, for this reason. After finish() too.
  std::function<void(const Error&)> on_closed;
};

class RshChannel {
 public:
  /// Everything is borrowed for the life of the channel; `tls` null = no job secret.
  static std::unique_ptr<RshChannel> dial(Loop& loop, Network& network, const Address& address,
                                          const TlsContext* tls, RshChannelHandlers handlers);
  /// An accepted connection with at least its first byte. A peer that has a secret where we have
  /// none, or the other way round, is told so and never comes to be open. Until it has proved
  /// that it has the secret, the peer is a stranger, who may be dropped for another one.
  static std::unique_ptr<RshChannel> adopt(Loop& loop, Arrival arrival, const TlsContext* tls,
                                           RshChannelHandlers handlers);
  /// A connection that is there already, in the clear; `peer` is for messages. If there is an error
  /// in place of it, on_closed tells it.
  static std::unique_ptr<RshChannel> over(Loop& loop, Result<UniqueFd> connection, std::string peer,
                                          RshChannelHandlers handlers);
  RshChannel(const RshChannel&) = delete;
  RshChannel& operator=(const RshChannel&) = delete;

  /// From now on these are called. Not from one of those that are there.
  void set_handlers(RshChannelHandlers handlers) { handlers_ = std::move(handlers); }
  /// Queues; leaves at the end of the turn. Nothing once the channel is closed. What may be queued
  /// is bounded by the credit of the streams, not here.
  void send(const RshMessage& message);
  /// The same, but the kernel has it, and all before it, when this returns, as far as it takes it.
  void send_now(const RshMessage& message);
  /// No more will be sent. What the peer still sends is thrown away, so that its system does not
  /// answer our close with a reset that overtakes our last words; kRshLinger at most.
  void finish();
  /// After finish(): that the connection ends is no loss.
  [[nodiscard]] bool is_finishing() const { return state_ == State::kFinishing || said_all_; }
  /// on_open came.
  [[nodiscard]] bool has_opened() const { return opened_; }
  /// Messages can be sent, and come.
  [[nodiscard]] bool is_open() const { return state_ == State::kOpen; }
  /// It is open, and the peer has neither said anything that was not read yet nor gone.
  [[nodiscard]] bool is_quiet() const;
  /// The peer's system has acknowledged all that was sent.
  [[nodiscard]] bool is_heard() const;
  /// Address of the other end, for messages.
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  enum class State { kConnecting, kGreeting, kHandshaking, kOpen, kFinishing, kClosed };

  RshChannel(Loop& loop, std::string peer, const TlsContext* tls, RshChannelHandlers handlers);
  Status watch(Interest interest);
  void set_deadline(Duration length);
  void on_ready(Ready ready);
  Status on_connected();
  Status begin(bool secured, TlsRole role);
  void become_open();
  Status receive();
  Status take(std::string_view bytes);
  Status take_plaintext(std::string_view bytes);
  Status take_greeting(std::string_view bytes);
  Status run_messages();
  void refuse(std::string_view bytes_for_peer, std::string reason);
  Status flush();
  void flush_soon();
  void close(const Error& error);

  Loop& loop_;
  std::string peer_;
  const TlsContext* tls_;
  Strangers::Place
      stranger_;  // of an accepted one until its peer has proved that it has the secret
  RshChannelHandlers handlers_;
  State state_ = State::kConnecting;
  bool opened_ = false;
  bool said_all_ = false;  // finish() came before the end
  UniqueFd fd_;
  Watch watch_;  // after fd_: unregistered before it is closed
  std::unique_ptr<TlsSession> session_;
  std::string greeting_;  // of the peer, until it is whole
  RshDecoder decoder_;
  std::string outgoing_;
  Error why_{Code::kPeer, 0, "the connection was closed"};
  Timer deadline_;
  Timer soon_;
};

}  // namespace muster::mpi
