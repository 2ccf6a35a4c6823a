#include "mpi/rsh/early_calls.h"

#include <utility>

namespace muster::mpi {

void EarlyCalls::take(Arrival arrival, Status admitted) {
  if (!holds_ || calls_.size() >= kMaxEarlyCalls) return serve_(std::move(arrival), admitted);
  calls_.push_back({std::move(arrival), std::move(admitted)});
  if (!timer_.is_active()) timer_ = loop_.after(kLongestHold, [this] { serve_all(); });
}

void EarlyCalls::release() {
  holds_ = false;
  serve_all();
}

void EarlyCalls::serve_all() {
  timer_.reset();
  for (Call& call : std::exchange(calls_, {})) serve_(std::move(call.arrival), call.admitted);
}

}  // namespace muster::mpi
