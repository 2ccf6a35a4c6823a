#include "rendezvous/xgboost/abort_calls.h"

#include <sys/socket.h>

#include <utility>

#include "rendezvous/xgboost/tracker_protocol.h"

namespace muster::rendezvous {

void AbortCalls::add(Address error_port) {
  waiting_.push_back(std::move(error_port));
  dial_next();
}

void AbortCalls::cancel() {
  waiting_.clear();
  calls_.clear();
}

// Who cannot be dialled is dead already, or will be stopped as every worker is.
void AbortCalls::dial_next() {
  while (!waiting_.empty() && calls_.size() < kMaxAbortCalls) {
    const Address address = std::move(waiting_.front());
    waiting_.pop_front();
    auto connection = network_.connect(address);
    if (!connection) continue;
    const uint64_t number = next_number_++;
    auto watch = loop_.watch(connection->get(), Interest::kWrite,
                             [this, number](Ready) { on_writable(number); });
    if (!watch) continue;
    Timer deadline = loop_.after(kAbortCallTime, [this, number] {
      calls_.erase(number);
      dial_next();
    });
    calls_.emplace(number, Call{std::move(*connection), std::move(*watch), std::move(deadline)});
  }
}

void AbortCalls::on_writable(uint64_t number) {
  const auto found = calls_.find(number);
  const std::string word = encode_abort();
  // Four bytes fit into any send buffer; if nobody is there any more, nobody needs them.
  (void)send(found->second.fd.get(), word.data(), word.size(), MSG_NOSIGNAL);
  calls_.erase(found);
  dial_next();
}

}  // namespace muster::rendezvous
