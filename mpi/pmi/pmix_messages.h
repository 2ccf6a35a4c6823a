// What an agent and its PMIx server (mpi/pmix_server) say to each other over the socket that the
// server inherits. A frame is a 4-byte big-endian length, then fields, each with a length of its
// own; the first field is the kind. Pure; nothing here knows the PMIx library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace muster::mpi {

/// Of one frame: more than all nodes may give to one barrier.
inline constexpr size_t kMaxPmixFrameBytes = 4U << 20;

namespace pmix {

struct Node {
  std::string name;
  int ranks = 1;  ///< ranks count up from node to node
  friend bool operator==(const Node&, const Node&) = default;
};

// Agent to server.

/// First and once: the job. Answered with Ready or Unusable.
struct Begin {
  std::string space;        ///< the name space, another one for every attempt
  int node = 0;             ///< index of this node
  std::string folder;       ///< for the library's files; exists, writable
  std::vector<Node> nodes;  ///< at least one
  friend bool operator==(const Begin&, const Begin&) = default;
};
/// The answer to the oldest Fence that has none. `data`: what all nodes gave, one after the other.
struct Fenced {
  bool ok = true;
  std::string data;
  friend bool operator==(const Fenced&, const Fenced&) = default;
};

// Server to agent. Local ranks count from 0.

/// What the ranks need in their environment: by local rank, "NAME=value".
struct Ready {
  std::vector<std::vector<std::string>> environments;
  friend bool operator==(const Ready&, const Ready&) = default;
};
/// There will be no service. The reason is for people.
struct Unusable {
  std::string reason;
  friend bool operator==(const Unusable&, const Unusable&) = default;
};
/// All ranks of this node wait for all others, and give `data`.
struct Fence {
  std::string data;
  friend bool operator==(const Fence&, const Fence&) = default;
};
struct Connected {
  int local_rank = 0;
  friend bool operator==(const Connected&, const Connected&) = default;
};
struct Finalized {
  int local_rank = 0;
  friend bool operator==(const Finalized&, const Finalized&) = default;
};
struct Aborted {
  int local_rank = 0;
  int status = 0;  ///< as the program said it
  friend bool operator==(const Aborted&, const Aborted&) = default;
};

}  // namespace pmix

using PmixMessage = std::variant<pmix::Begin, pmix::Fenced, pmix::Ready, pmix::Unusable,
                                 pmix::Fence, pmix::Connected, pmix::Finalized, pmix::Aborted>;

[[nodiscard]] std::string encode_pmix(const PmixMessage& message);

struct DecodedPmix {
  size_t consumed = 0;  ///< 0 = the frame is not complete
  std::optional<PmixMessage> message = {};
};
/// The first frame of `bytes`. kProtocol: no such message, or a field out of place. kLimit: a frame
/// too long.
Result<DecodedPmix> decode_pmix(std::string_view bytes);

}  // namespace muster::mpi
