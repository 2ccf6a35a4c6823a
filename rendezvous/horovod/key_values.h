// KeyValues: the HTTP key-value store that Horovod's processes meet at: what they PUT in scopes,
// others GET. Pure; HttpServer has the connections. Source: Horovod's http_store.cc and
// rendezvous server (0.28), and Horovod as it was tried.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/http_call.h"

namespace muster::rendezvous {

inline constexpr size_t kMaxKeyValueBytes = 64U << 20;  ///< of all keys and values

class KeyValues {
 public:
  /// What an elastic process is in the job now, "HOST:LOCAL_RANK" → "rank,size,local_rank,
  /// local_size,cross_rank,cross_size"; none: it is no process of the job.
  using Place = std::function<std::optional<std::string>(std::string_view slot)>;

  explicit KeyValues(Place place) : place_(std::move(place)) {}

  /// `/SCOPE/KEY`: PUT keeps the body, GET gives it or 404 (clients poll), DELETE of a rank forgets
  /// what it has put in that scope, so that the next one that meets there reads nothing stale.
  /// `/rank_and_size/HOST:LOCAL_RANK`: Place. `/worker_addresses/...` is taken and forgotten: it is
  /// for a driver that speaks to workers. 405, 413 and 404 for all else, never 5xx: clients would
  /// give up.
  HttpReply answer(const HttpCall& call);
  /// A new attempt.
  void clear();
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  HttpReply put(const std::string& path, std::string body);
  void forget(const std::string& path);

  Place place_;
  std::unordered_map<std::string, std::string> values_;  // by path
  size_t bytes_ = 0;
};

}  // namespace muster::rendezvous
