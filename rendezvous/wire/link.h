// Link: messages to one other agent, whatever lies between: a socket (control_link.h) or nothing
// but the loop (local_link.h), when the node that leads talks to itself.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "rendezvous/messages/control_messages.h"

namespace muster::rendezvous {

/// What a link tells its owner. Always from the loop, never from within a call of the owner's; none
/// of them may destroy the link (soon() may). All three must be set.
struct LinkHandlers {
  std::function<void()> on_open;                ///< once; messages may be sent from now on
  std::function<void(Message)> on_message;      ///< only between on_open and on_closed, in order
  std::function<void(const Error&)> on_closed;  ///< once, and the last; without on_open: it never
                                                ///< came to be. Destroying a link tells nothing.
};

/// Why a dial led to no link. kRejected: TLS says no.
enum class DialFailure { kRefused, kNoAnswer, kNoName, kRejected };

class Link {
 public:
  virtual ~Link() = default;
  /// Queues a message; its bytes leave at the end of the turn, together with the others of the
  /// turn. Only after on_open. Ignored once the link is closing or closed: on_closed is on its way.
  virtual void send(const Message& message) = 0;
  /// The same for who talks to thousands, and flushes by itself in this turn: nothing is set up for
  /// the end of it.
  virtual void put(const Message& message) = 0;
  /// Queues an answer, as put(): each part is made only when what was there before it has left, so
  /// of an answer that thousands do not read there is one, and one part for each of them. What is
  /// sent or put later leaves before the parts that are left, other answers after them. That order
  /// is harmless: a node takes the parts of the exchange that it waits for and no others, and
  /// nothing else that a leader says depends on an answer. Closing drops what is left.
  virtual void put_answer(ExchangeAnswer answer) = 0;
  /// What was sent or put leaves now: each of thousands is told while its bytes are warm.
  virtual void flush() = 0;
  /// Ends the link after everything sent so far has left. Nothing more is received; on_closed comes
  /// with `reason` as text (kPeer). May be called in any state; only the first reason counts.
  virtual void close(std::string reason) = 0;
  /// Who is at the other end, for messages: an address or a name.
  [[nodiscard]] virtual const std::string& peer() const = 0;
};

}  // namespace muster::rendezvous
