#include "mpi/rsh/early_calls.h"

#include <utility>

namespace muster::mpi {

void EarlyCalls::take(UniqueFd connection, std::string first_bytes) {
  if (!holds_ || calls_.size() >= kMaxEarlyCalls)
    return serve_(std::move(connection), std::move(first_bytes));
  calls_.push_back({std::move(connection), std::move(first_bytes)});
  if (!timer_.is_active()) timer_ = loop_.after(kLongestHold, [this] { serve_all(); });
}

void EarlyCalls::release() {
  holds_ = false;
  serve_all();
}

void EarlyCalls::serve_all() {
  timer_.reset();
  for (Call& call : std::exchange(calls_, {}))
    serve_(std::move(call.connection), std::move(call.first_bytes));
}

}  // namespace muster::mpi
