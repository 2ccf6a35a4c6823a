// PMI 1.1, the "simple PMI" of MPICH and its descendants (Intel MPI, MVAPICH): what a rank asks of
// whoever started it. Bytes to requests and answers to bytes; pure. Page: PMI_PROTOCOL.md. Who
// answers what: pmi_server.h.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace muster::mpi {

/// What MPICH's own process manager grants; clients size their buffers by the answer to get_maxes.
inline constexpr size_t kMaxPmiKvsNameBytes = 256;
inline constexpr size_t kMaxPmiKeyBytes = 64;
inline constexpr size_t kMaxPmiValueBytes = 1024;
/// A `put` with all three at their limits has 1,400 bytes.
inline constexpr size_t kMaxPmiLineBytes = 2048;
/// A `spawn` carries the arguments of a program, one a line; it is read and refused.
inline constexpr size_t kMaxPmiSpawnBytes = 64U << 10;

struct PmiInit {
  int version = 1;
  int subversion = 1;
};
struct PmiGetMaxes {};
struct PmiGetAppNumber {};
struct PmiGetKvsName {};
struct PmiGetUniverseSize {};
struct PmiPut {
  std::string kvs_name;
  std::string key;
  std::string value;  ///< anything but a line's end
};
struct PmiGet {
  std::string kvs_name;
  std::string key;
};
struct PmiBarrier {};
struct PmiFinalize {};
struct PmiAbort {
  int exit_code = 1;  ///< as given to MPI_Abort
};
/// Part of MPI's dynamic processes (spawn, publish_name, unpublish_name, lookup_name), which nobody
/// serves here. `answer`: the name of the refusal, "spawn_result"; "" = more of the same request
/// follows, and only that is answered.
struct PmiDynamic {
  std::string answer;
};
using PmiRequest =
    std::variant<PmiInit, PmiGetMaxes, PmiGetAppNumber, PmiGetKvsName, PmiGetUniverseSize, PmiPut,
                 PmiGet, PmiBarrier, PmiFinalize, PmiAbort, PmiDynamic>;

/// One request and the bytes it took, or `consumed` 0 = need more.
struct DecodedPmi {
  size_t consumed = 0;
  std::optional<PmiRequest> request;
};
/// Errors: kProtocol (no command, one nobody knows, a field missing or no number), kLimit (names
/// limit and value). After an error the stream is of no use.
Result<DecodedPmi> decode_pmi(std::string_view bytes);

using PmiField = std::pair<std::string_view, std::string_view>;
/// "cmd=NAME KEY=VALUE ...\n". No value may hold a line's end, and only the last one a space.
[[nodiscard]] std::string encode_pmi(std::string_view name, std::initializer_list<PmiField> fields);

/// The value of PMI_process_mapping for nodes with that many ranks each: "(vector,(0,2,4))", blocks
/// of (first node, nodes, ranks on each). "" when it is too long for a value: then the ranks tell
/// each other their host names. Source: MPICH, src/util/build_nodemap.h.
[[nodiscard]] std::string process_mapping(const std::vector<int>& ranks_by_node);

}  // namespace muster::mpi
