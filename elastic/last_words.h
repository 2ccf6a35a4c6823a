// What the last words of a failed worker say about whose fault it was. Pure. When a worker dies,
// its peers fail in their collectives in the same millisecond, and which end is noticed first is
// luck; but a peer's exception says that a connection broke. Used by root_cause.h and failure.h.
#pragma once

#include <span>
#include <string_view>

namespace muster::elastic {

/// A text that frameworks leave when another process of the job is gone.
struct LostPeerSignature {
  std::string_view text;    ///< part of a line, as printed
  std::string_view source;  ///< who prints it, and when
};
[[nodiscard]] std::span<const LostPeerSignature> lost_peer_signatures();

/// Of one failed worker. Both may be empty.
struct LastWords {
  std::string_view message;     ///< of its error file: "ValueError: x"
  std::string_view last_lines;  ///< the end of its output and why it ended, joined by '\n'
};

/// True when it says that it failed because of another process. The error file's message counts
/// alone if there is one; else the last Python exception and what follows it; else all lines. O(n).
[[nodiscard]] bool tells_of_lost_peer(const LastWords& words);

/// The order in which failures of one moment explain the others: the first goes first.
enum class Blame {
  kOwn,             ///< by itself
  kOwnWhileEnding,  ///< of an exception of its own; told to stop before its process was gone
  kLostPeer,        ///< because a peer was gone, by its own words
  kBecauseStopped,  ///< told to stop before, and it ended otherwise than by our signal
};
[[nodiscard]] Blame blame_of(bool told_to_stop, const LastWords& words);

}  // namespace muster::elastic
