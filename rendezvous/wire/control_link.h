// ControlLink: frames of the control protocol over a stream socket, in the clear or, with a job
// secret, in TLS. It knows no message but the refusal of a peer without the secret; what messages
// mean is leader's and member's.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "base/tls.h"
#include "rendezvous/wire/answer_queue.h"
#include "rendezvous/wire/link.h"

namespace muster::rendezvous {

/// From the dial to on_open. Two lost SYNs are forgiven (Linux repeats them after 1 and 3 s).
inline constexpr Duration kConnectDeadline = std::chrono::seconds(5);
/// From an accepted connection to its first whole message; agents send it at once.
inline constexpr Duration kGreetingDeadline = std::chrono::seconds(10);
/// How long a link that we close may take to send what is queued and to see the peer close too.
inline constexpr Duration kCloseDeadline = std::chrono::seconds(2);
/// Unsent bytes of one link, with answers that it shares: the list of kMaxNodes nodes, said in one
/// turn. Heartbeats need days to get here; who reads nothing while a large job re-forms is dropped.
inline constexpr size_t kMaxLinkQueueBytes = 32U << 20;
/// Read from one link in one turn, so that a flood does not hold up the others.
inline constexpr size_t kLinkReadBytesPerTurn = 64U << 10;

/// Received and not yet decoded: at most one frame and one read. Silence is not this class's
/// matter: leases judge it; TCP's own timers (job_port.h) only clear away what nobody needs.
///
/// Errors of on_closed: kOs, kPeer (the peer went or refuses), kConfig (it has another secret, or
/// one of us has none), kTimeout, kProtocol, kLimit (names limit and value). A link that ends for
/// what the peer sent or did not read is told by one `link.dropped` line, except before the first
/// message of who was dialled: then the error is all; EPROTO in it: no agent answers there.
class ControlLink final : public Link {
 public:
  /// Dials; on_open or on_closed comes within `deadline` (and kCloseDeadline, if TLS fails). Loop,
  /// network and context are borrowed for the life of the link; `tls` null = no job secret, in the
  /// clear.
  static std::unique_ptr<ControlLink> dial(Loop& loop, Network& network, const Address& address,
                                           const TlsContext* tls, LinkHandlers handlers,
                                           Duration deadline = kConnectDeadline);
  /// The same with a connection that was made already (rendezvous/finding/dial.h). `peer` is its
  /// name.
  static std::unique_ptr<ControlLink> greet(Loop& loop, UniqueFd connection, std::string peer,
                                            const TlsContext* tls, LinkHandlers handlers);

  /// Takes over an accepted connection with what was read from it, at least its first byte (from
  /// JobPort, Protocol::kControl and kTls alike). Nothing happens before begin(). A peer with a
  /// secret where we have none, or the other way round, is told why, and never comes to be open.
  /// Until its first message the peer is a stranger, who may be dropped for another one.
  static std::unique_ptr<ControlLink> adopt(Loop& loop, Arrival arrival, const TlsContext* tls,
                                            LinkHandlers handlers);

  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  /// Of an adopted link: from here on its handlers are called. Nothing, if it was closed before.
  void begin();
  void send(const Message& message) override;
  void put(const Message& message) override { (void)append(message); }
  void put_answer(ExchangeAnswer answer) override;
  void flush() override;
  void close(std::string reason) override;
  [[nodiscard]] const std::string& peer() const override { return peer_.name; }

 private:
  enum class State { kConnecting, kHandshaking, kOpen, kFailing, kLeaving, kEnded };

  ControlLink(Loop& loop, std::string peer, const TlsContext* tls, bool accepted,
              LinkHandlers handlers);

  void set_deadline(Duration length);
  Status begin_dialled(UniqueFd connection);
  Status watch(Interest interest);
  void refuse(bool peer_has_secret);
  void on_ready(Ready ready);
  Status finish_connect();
  Status begin_tls(TlsRole role);
  void become_open();
  void receive();
  void take_tls(std::string_view bytes);
  void take_plaintext(std::string_view bytes);
  size_t run_frames(std::string_view bytes);
  bool append(const Message& message);
  bool keep_limit();
  void queue(std::string_view bytes);
  void flush_soon();
  void update_interest();
  void expire(Duration length);
  [[nodiscard]] bool answers_nothing_yet() const;
  void log_dropped(const Error& error);
  void fail(const Error& error);
  void fail_soon(Error error);
  void end_soon(Error error);
  void leave(Error error);
  void end(const Error& error);

  struct Peer {
    std::string name;
    bool accepted = false;           // we did not dial
    bool heard = false;              // a whole message
    Strangers::Place stranger = {};  // of an accepted one until then
  };

  Loop& loop_;
  Peer peer_;
  const TlsContext* tls_;
  LinkHandlers handlers_;
  State state_ = State::kConnecting;
  UniqueFd fd_;
  Watch watch_;  // after fd_: unregistered before it is closed
  std::unique_ptr<TlsSession> session_;
  std::string incoming_;        // plaintext not decoded yet
  std::string outgoing_;        // as it goes over the wire
  AnswerQueue answers_;         // what follows it
  bool write_blocked_ = false;  // the socket is full
  Timer deadline_;
  Timer soon_;   // the end of a failing link
  Timer flush_;  // due at once: the end of this turn
  Error why_;    // for on_closed, while leaving
};

/// What a dialled link's on_closed means that came without on_open. Pure.
[[nodiscard]] DialFailure dial_failure(const Error& error);

}  // namespace muster::rendezvous
