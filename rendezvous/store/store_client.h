// StoreClient: the other end of the job store, as a worker of PyTorch is one, for workers that are
// ours. Each call waits for its answer, with a deadline. Protocol: STORE_PROTOCOL.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/timed_stream.h"

namespace muster::rendezvous {

inline constexpr size_t kMaxClientValueBytes = 1 << 20;  ///< of an answer

class StoreClient {
 public:
  /// kTimeout, kPeer.
  static Result<StoreClient> connect(const Address& store, TimePoint deadline);

  Status set(std::string_view key, std::string_view value, TimePoint deadline);
  /// Waits until there is such a key. Further: kLimit, the value is too long.
  Result<std::string> get(std::string_view key, TimePoint deadline);
  /// Waits until all of them are there. After kTimeout nothing is waited for any more.
  Status wait(const std::vector<std::string>& keys, TimePoint deadline);
  /// Whether all of them are there.
  Result<bool> check(const std::vector<std::string>& keys, TimePoint deadline);
  /// Nothing if there is no such key.
  Status remove(std::string_view key, TimePoint deadline);

 private:
  explicit StoreClient(TimedStream stream) : stream_(std::move(stream)) {}
  Status cancel_wait();
  TimedStream stream_;
};

}  // namespace muster::rendezvous
