// EtcdMessages: the few requests of etcd's v3 API that an election needs, as its JSON gateway takes
// them, and its answers. Pure. Source: etcd 3.4, Documentation/dev-guide/api_grpc_gateway.md and
// rpc.proto; numbers of 64 bits are strings there, keys and values base64, and what is 0, false or
// empty is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/http_decoder.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster::rendezvous {

/// One request: POST `body` to `path`.
struct EtcdCall {
  std::string path;
  std::string body;
};

struct EtcdEntry {
  std::string value;
  int64_t create_revision = 0;  ///< of the whole etcd, rising with every change; never 0
  int64_t lease = 0;            ///< 0 = none: it stays until it is deleted
};
struct EtcdLease {
  int64_t id = 0;
  Duration ttl{};  ///< etcd may grant more than was asked, never less
};
/// Outcome of claim_call.
struct EtcdClaim {
  bool won = false;
  int64_t revision = 0;             ///< won: create_revision of the key
  std::optional<EtcdEntry> holder;  ///< not won: the entry that was there; never none then
  std::optional<EtcdEntry> mark;    ///< won: the other entry, if it is there
};

[[nodiscard]] EtcdCall range_call(std::string_view key);
/// Whole seconds, rounded up.
[[nodiscard]] EtcdCall grant_call(Duration ttl);
[[nodiscard]] EtcdCall keep_alive_call(int64_t lease);
/// Ends a lease, and with it every key that has it.
[[nodiscard]] EtcdCall revoke_call(int64_t lease);
[[nodiscard]] EtcdCall put_call(std::string_view key, std::string_view value, int64_t lease);
/// In one transaction: if `key` is not there, puts it and reads `mark`, else reads `key`.
[[nodiscard]] EtcdCall claim_call(std::string_view key, std::string_view value, int64_t lease,
                                  std::string_view mark);

// Errors of all readers: kPeer: etcd answers with an error (text: HTTP status and its words).
// kProtocol: not what etcd would answer.
Result<std::optional<EtcdEntry>> read_range(const HttpResponse& response);
Result<EtcdLease> read_grant(const HttpResponse& response);
/// The lease's time from the moment etcd took the request; zero: there is no such lease.
Result<Duration> read_keep_alive(const HttpResponse& response);
/// A lease that was not there any more is success.
Status read_revoke(const HttpResponse& response);
Status read_put(const HttpResponse& response);
Result<EtcdClaim> read_claim(const HttpResponse& response);

/// Who leads, as the value of the leader's key tells: {"node":"a","host":"10.0.0.1","port":29400}.
struct EtcdLeader {
  std::string node;  ///< its name, for messages
  Address address;   ///< of its job port
  friend bool operator==(const EtcdLeader&, const EtcdLeader&) = default;
};
[[nodiscard]] std::string encode(const EtcdLeader& leader);
/// kProtocol: somebody else's value.
Result<EtcdLeader> decode_leader(std::string_view value);

}  // namespace muster::rendezvous
