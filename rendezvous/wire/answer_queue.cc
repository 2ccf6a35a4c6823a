#include "rendezvous/wire/answer_queue.h"

#include <utility>

namespace muster::rendezvous {

namespace {

// Without data it is not nothing, either: a peer can ask for any number of these.
size_t bytes_of(const Exchanged& part) { return sizeof part + part.data.size(); }

}  // namespace

void AnswerQueue::add(ExchangeAnswer answer) {
  for (const Exchanged& part : *answer) bytes_ += bytes_of(part);
  answers_.push_back(std::move(answer));
}

Exchanged AnswerQueue::take() {
  const auto& parts = *answers_.front();
  Exchanged part = parts[taken_++];
  bytes_ -= bytes_of(part);
  if (taken_ == parts.size()) {
    answers_.pop_front();
    taken_ = 0;
  }
  return part;
}

}  // namespace muster::rendezvous
