// What XGBoost's workers and their tracker say to each other, as values and as bytes
// (TRACKER_PROTOCOL.md). Pure: bytes come in and go out, connections are tracker_server.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace muster::rendezvous {

/// Workers of XGBoost up to 2.0 and from 2.1 on.
enum class TrackerWire : uint8_t { kClassic, kJson };
/// "XGBoost 2.0 or older", "XGBoost 2.1 or newer".
[[nodiscard]] std::string_view to_string(TrackerWire wire);

inline constexpr size_t kMaxTaskIdBytes = 256;
/// One JSON object, or what a worker prints at once.
inline constexpr size_t kMaxTrackerTextBytes = 64U << 10;
inline constexpr int kMaxTrackerWorkers = 100'000;
/// A worker has at most five links, and lists those that it has made.
inline constexpr int kMaxGoodLinks = 16;

/// What a classic worker that gave no task id says in its place; a newer one says "".
inline constexpr std::string_view kNoTaskId = "NULL";

namespace tracker {

/// The magic number; it is answered with encode_magic() before anything else is sent.
struct Greeting {};
/// Who calls. The values of a worker that has no rank yet mean nothing but kClassic's `world_size`:
/// above 0 it is how many workers the user wants.
struct Header {
  TrackerWire wire = TrackerWire::kClassic;
  int rank = -1;
  int world_size = -1;
  std::string task_id;  ///< as it came: any bytes
};
/// Wants to join. A classic worker tells its port later (Listening) and has no error port.
struct Start {
  uint16_t port = 0;
  uint16_t error_port = 0;
};
struct Print {
  std::string text;  ///< printable_utf8()
};
/// It leaves its group.
struct Shutdown {};
/// signal_error(): carries no exit status, and the worker goes on.
struct Signal {
  int64_t code = 0;
  std::string text;  ///< printable_utf8()
};
/// Muster's own, on the classic wire: an agent tells how the process of Header::rank has ended.
struct Ended {
  bool success = false;
};
/// Links that this classic worker has; it waits for encode_links().
struct GoodLinks {
  std::vector<int> ranks;
};
/// How many of the links that it was given could not be made. Not 0: GoodLinks follow.
struct LinksFailed {
  int count = 0;
};
struct Listening {
  uint16_t port = 0;
};

}  // namespace tracker

using TrackerMessage =
    std::variant<tracker::Greeting, tracker::Header, tracker::Start, tracker::Print,
                 tracker::Shutdown, tracker::Signal, tracker::Ended, tracker::GoodLinks,
                 tracker::LinksFailed, tracker::Listening>;

/// Of one connection. After an error it is of no use.
class TrackerDecoder {
 public:
  void append(std::string_view bytes) { bytes_ += bytes; }
  /// The next message; none: more bytes are needed, or nothing is to come any more. kProtocol,
  /// kLimit (the text names limit and value).
  Result<std::optional<TrackerMessage>> next();
  [[nodiscard]] size_t kept_bytes() const { return bytes_.size(); }

 private:
  enum class Phase : uint8_t {
    kMagic,
    kHeader,
    kCommand,
    kGoodLinks,
    kLinksFailed,
    kListening,
    kNothing,  // all is said
  };
  using Next = Result<std::optional<TrackerMessage>>;

  Next magic();
  Next header();
  Next classic_header();
  Next json_header();
  Next classic_command();
  Next json_command();
  Next good_links();
  Next links_failed();
  Next listening();
  [[nodiscard]] std::optional<int32_t> number_at(size_t offset) const;
  Result<std::optional<std::string_view>> text_at(size_t offset, size_t limit_bytes) const;
  TrackerMessage take(size_t bytes, Phase next, TrackerMessage message);

  std::string bytes_;
  Phase phase_ = Phase::kMagic;
  TrackerWire wire_ = TrackerWire::kClassic;
};

/// Where a classic worker is to dial.
struct TrackerPeer {
  std::string host;
  uint16_t port = 0;
  int rank = 0;
};
/// The place of a rank in the classic topology, -1 = none.
struct TrackerPlace {
  int rank = 0;
  int parent = -1;
  int world_size = 1;
  std::vector<int> tree;  ///< parent and children
  int previous = -1;      ///< in the ring
  int next = -1;
};

// To workers.
[[nodiscard]] std::string encode_magic();
[[nodiscard]] std::string encode_place(const TrackerPlace& place);
[[nodiscard]] std::string encode_links(const std::vector<TrackerPeer>& dial, int accept);
[[nodiscard]] std::string encode_world_size(int world_size);
/// What a kJson worker is told of the one behind it in the ring.
[[nodiscard]] std::string encode_successor(const TrackerPeer& successor);
/// To an error port: another worker has failed. Upstream's tracker sends -1, which does nothing.
[[nodiscard]] std::string encode_abort();

/// A whole connection of an agent: Ended, in one piece, for no answer is waited for.
[[nodiscard]] std::string encode_ended(int rank, int world_size, bool success);

}  // namespace muster::rendezvous
