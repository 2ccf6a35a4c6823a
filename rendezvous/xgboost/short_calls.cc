#include "rendezvous/xgboost/short_calls.h"

#include <sys/socket.h>

#include <utility>

namespace muster::rendezvous {

void ShortCalls::say(Address to, std::string bytes) {
  waiting_.push_back({std::move(to), std::move(bytes)});
  dial_next();
}

void ShortCalls::cancel() {
  waiting_.clear();
  calls_.clear();
}

void ShortCalls::dial_next() {
  while (!waiting_.empty() && calls_.size() < kMaxShortCalls) {
    Word word = std::move(waiting_.front());
    waiting_.pop_front();
    auto connection = network_.connect(word.to);
    if (!connection) continue;
    const uint64_t number = next_number_++;
    auto watch = loop_.watch(connection->get(), Interest::kWrite,
                             [this, number](Ready) { on_writable(number); });
    if (!watch) continue;
    Timer deadline = loop_.after(kShortCallTime, [this, number] {
      calls_.erase(number);
      dial_next();
    });
    calls_.emplace(number, Call{std::move(word.bytes), std::move(*connection), std::move(*watch),
                                std::move(deadline)});
  }
}

void ShortCalls::on_writable(uint64_t number) {
  const auto found = calls_.find(number);
  const std::string& bytes = found->second.bytes;
  // If nobody is there any more, nobody needs it.
  (void)send(found->second.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  calls_.erase(found);
  dial_next();
}

}  // namespace muster::rendezvous
