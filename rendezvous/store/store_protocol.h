// The TCPStore wire format: bytes -> commands, for the two numberings that real PyTorch clients
// speak, and the few bytes of the answers. Pure: sees only bytes, never a socket and never the
// store's state. The whole protocol as we serve it is described in STORE_PROTOCOL.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "rendezvous/store/encoded_strings.h"

namespace muster::rendezvous {

// Limits on what a client may ask for. Beyond one of them the connection is closed, as libuv's
// server does; its numbers (PyTorch 2.13, exact: 8192, 8 MiB, 131072) are the least we must accept.
inline constexpr uint64_t kMaxKeyBytes = 8192;
/// 8x libuv's: its predecessor had no limit, and jobs built on it do store models of many MB.
inline constexpr uint64_t kMaxValueBytes = 64U << 20;
inline constexpr uint64_t kMaxListedKeys = 131'072;
/// Bounds MULTI_SET, whose pairs are each within the limits above; a COMPARE_SET of two largest
/// values fits.
inline constexpr uint64_t kMaxRequestBytes = 256U << 20;

/// The numbering of a connection's op codes. Found out once, from its first bytes.
enum class Dialect : uint8_t {
  kCurrent,  ///< PyTorch 2.2 and later: opens with VALIDATE
  kLegacy,   ///< PyTorch 1.13 and 2.0: no greeting
};

/// A request. The numbers are the current op codes; kWatchKey exists in the legacy numbering only.
enum class Op : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kGetNumKeys = 7,
  kDeleteKey = 8,
  kAppend = 9,
  kMultiGet = 10,
  kMultiSet = 11,
  kCancelWait = 12,
  kPing = 13,
  kQueuePush = 14,
  kQueuePop = 15,
  kQueueLength = 16,
  kListKeys = 17,
  kBarrier = 18,
  kWatchKey = 19,
};

/// "SET", "COMPARE_SET", ... as PyTorch calls them.
[[nodiscard]] std::string_view to_string(Op op);

/// One whole request. Every view points into the bytes given to decode() and lives as long as they
/// do.
struct Command {
  Op op = Op::kSet;
  size_t encoded_bytes = 0;   ///< how many bytes of the input it took
  std::string_view key;       ///< all ops with one key
  std::string_view value;     ///< SET, APPEND, QUEUE_PUSH; the desired value of COMPARE_SET
  std::string_view expected;  ///< COMPARE_SET
  int64_t number = 0;         ///< ADD: delta; BARRIER: world size; PING: nonce (32 bits)
  EncodedStrings strings;  ///< CHECK, WAIT, MULTI_GET: keys; MULTI_SET: key, value, key, value, ...
};

/// The request is not complete. Hand this back to decode() with the same bytes and more behind
/// them: what was already scanned is not scanned again, so that a request in n pieces costs O(bytes
/// + n).
struct NeedMore {
  size_t wanted_bytes = 1;     ///< with fewer bytes than this the answer will be the same
  size_t scanned_bytes = 0;    ///< of a list: offset of the first string not yet scanned
  size_t scanned_strings = 0;  ///< of a list: how many strings lie before it
};

/// Bytes that are no request we serve; the connection cannot go on.
struct Malformed {
  const char* what = "";  ///< "key bytes", "op code", ... (static text)
  uint64_t value = 0;
  uint64_t limit = 0;  ///< 0 = not a matter of size
  /// "value bytes 67108865 over the limit of 67108864", "op code 77 is unknown".
  [[nodiscard]] std::string describe() const;
};

using Decoded = std::variant<Command, NeedMore, Malformed>;

/// The request at the start of `bytes`. `resume` is what an earlier call with a prefix of these
/// bytes returned. VALIDATE is Malformed here: it is only legal as the greeting, which
/// detect_dialect() eats.
[[nodiscard]] Decoded decode(Dialect dialect, std::string_view bytes, const NeedMore& resume = {});

/// What a connection's first bytes say.
struct Greeting {
  Dialect dialect = Dialect::kCurrent;
  size_t encoded_bytes = 0;  ///< bytes of the greeting itself, to be skipped: 5 (VALIDATE) or 0
};

/// VALIDATE is `00 CE F7 85 3C`; a legacy client starts with any of its ops, and its SET (also 0)
/// with a key length that cannot look like that magic. Decided after at most 5 bytes, however they
/// arrive.
[[nodiscard]] std::variant<Greeting, NeedMore, Malformed> detect_dialect(std::string_view bytes);

// One-byte answers.
inline constexpr uint8_t kReady = 0;         ///< CHECK: all keys present
inline constexpr uint8_t kNotReady = 1;      ///< CHECK
inline constexpr uint8_t kStopWaiting = 0;   ///< WAIT, BARRIER
inline constexpr uint8_t kWaitCanceled = 1;  ///< CANCEL_WAIT

}  // namespace muster::rendezvous
