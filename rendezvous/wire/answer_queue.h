// AnswerQueue: the answers to exchanges (exchange.h) that one link has yet to send, part by part.
// It knows neither the socket nor when the next part may go. Used by control_link.h.
#pragma once

#include <cstddef>
#include <list>

#include "rendezvous/messages/exchange_messages.h"

namespace muster::rendezvous {

class AnswerQueue {
 public:
  /// It comes after those that are here already.
  void add(ExchangeAnswer answer);
  /// No part is left.
  [[nodiscard]] bool empty() const { return answers_.empty(); }
  /// The next part, of a queue that is not empty. With its last part an answer is let go.
  [[nodiscard]] Exchanged take();
  /// Of what was not taken yet, with what holds it.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  std::list<ExchangeAnswer> answers_;  // empty for most links: then it holds no memory
  size_t taken_ = 0;                   // parts of the first
  size_t bytes_ = 0;
};

}  // namespace muster::rendezvous
