// The control protocol's bytes: messages (control_messages.h) to frames and back. Pure; the
// connection reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rendezvous/messages/control_messages.h"

namespace muster::rendezvous {

inline constexpr size_t kMaxFrameBytes = 1 << 20;  ///< of the JSON, without its length
/// Of the first one of who has dialled: a Hello, from somebody who has proved nothing yet.
inline constexpr size_t kMaxFirstFrameBytes = 16 << 10;
inline constexpr size_t kFrameHeaderBytes = 4;  ///< big-endian length
/// Nodes that one message of the leader lists: they fit a frame whatever their names are, at most
/// 4 KiB each where every byte has to be escaped. Longer lists come in parts.
inline constexpr size_t kMaxRosterPart = 192;
/// Nodes of a report, which goes without its list where that does not fit; and of the largest round
/// of which every node may have the list: 1 MB for each of them.
inline constexpr size_t kMaxRoster = 8192;
inline constexpr size_t kMaxPeerNoteBytes = 128;  ///< of a node: long rosters must stay short
inline constexpr size_t kSmallRoster = 8;  ///< so few nodes that every one of them gets the list
inline constexpr size_t kMaxStatusBytes = kMaxFrameBytes * 3 / 8;  ///< escaped, at most twice that
inline constexpr size_t kMaxFailuresPerFrame =
    16;                                          ///< records of one node; later ones are cascades
inline constexpr int kMaxAttempt = 1 << 30;      ///< later ones are told as this one
inline constexpr int64_t kMaxTerm = 1LL << 62;   ///< far above any; the next one still fits
inline constexpr int64_t kMaxRound = 1LL << 53;  ///< numbers that every JSON library keeps exact

/// The word in its "type" field: "hello", "join", ...
[[nodiscard]] std::string_view name_of(const Message& message);

/// Appends the whole frame. Text longer than its limit is cut, lists too; a message that is still
/// too long goes without its rosters and who has ended, and with few failures: everybody can do
/// without.
void encode(std::string& out, const Message& message);
[[nodiscard]] std::string encode(const Message& message);

/// One message and the bytes it took, or `consumed` 0 = need more.
/// Errors: kLimit (length), kProtocol (not JSON, unknown type, field missing, wrong or out of
/// range). After an error the stream is of no use. Unknown fields are ignored.
struct DecodedMessage {
  size_t consumed = 0;
  std::optional<Message> message;
};
Result<DecodedMessage> decode(std::span<const char> bytes, size_t limit = kMaxFrameBytes);

}  // namespace muster::rendezvous
