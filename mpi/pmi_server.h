// PmiServer: what the ranks of one node know through PMI during one attempt: their key-value store,
// their barriers, and who left before its time. Pure: requests in (pmi_protocol.h), answers and
// what other nodes must hear out. Sockets: launcher/pmi_ranks.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "mpi/pmi_protocol.h"

namespace muster::mpi {

/// What the ranks of one node may put between two barriers, keys and values together. MPICH 5 puts
/// some 2 KiB per rank.
inline constexpr size_t kMaxPmiPutBytes = 1U << 20;

/// Where this node's ranks stand; ranks count up from node to node.
struct PmiPlace {
  std::string kvs_name;  ///< the same on all nodes, another one for every attempt
  int first_rank = 0;
  int local_size = 1;
  int world_size = 1;
  int nodes = 1;
};

/// Of a rank that ended as no MPI program may, or that can never get what it waits for: the exit
/// code to report, 1..255, and why, for people.
struct PmiVerdict {
  int exit_code = 1;
  std::string reason;
};

namespace pmi_output {
struct Answer {
  int local_rank;
  std::string line;
};
/// To all nodes; call on_exchanged with what all of them gave under this number. The first one of
/// an attempt is 0; one at a time.
struct Exchange {
  uint64_t sequence;
  std::string bytes;
};
/// The rank shall end; what its end means is said by verdict().
struct End {
  int local_rank;
};
}  // namespace pmi_output
using PmiOutput = std::variant<pmi_output::Answer, pmi_output::Exchange, pmi_output::End>;

class PmiServer {
 public:
  /// With several nodes the first output is an exchange: the numbers of ranks on each.
  explicit PmiServer(PmiPlace place);

  /// Local ranks count from 0. A request that is out of place ends its rank.
  void on_request(int local_rank, const PmiRequest& request);
  /// The rank said something that is no PMI.
  void on_nonsense(int local_rank, const Error& error);
  /// By node rank. Bytes that are no contribution end the ranks that wait.
  void on_exchanged(uint64_t sequence, const std::vector<std::string>& contributions);
  /// There will be no answer to that exchange.
  void on_exchange_failed(const std::string& reason);
  /// The process has exited with 0 by itself. None: that is a success.
  [[nodiscard]] std::optional<PmiVerdict> on_success(int local_rank);
  /// Why the rank was made to end, if it was.
  [[nodiscard]] std::optional<PmiVerdict> verdict(int local_rank) const;

  [[nodiscard]] bool is_used() const { return used_; }  ///< some rank asked for something
  [[nodiscard]] std::vector<PmiOutput> take_outputs();

 private:
  enum class State { kSilent, kReady, kInBarrier, kFinalized, kGone };
  struct Rank {
    State state = State::kSilent;
    bool wants_mapping = false;  // asked before it was known
    std::optional<PmiVerdict> verdict;
  };

  void init(int local_rank, const PmiInit& request);
  void put(int local_rank, const PmiPut& request);
  void get(int local_rank, const PmiGet& request);
  void enter_barrier(int local_rank);
  void finalize(int local_rank);
  void settle_barrier();
  void contribute();
  void release();
  Status apply(size_t node, const std::string& contribution, std::vector<int>& sizes);
  void take_sizes(const std::vector<int>& sizes);
  void end(int local_rank, PmiVerdict verdict);
  void end_waiting(const std::string& reason);
  void answer(int local_rank, std::string_view name, std::initializer_list<PmiField> fields);
  [[nodiscard]] std::string name_of(int local_rank) const;
  Rank& at(int local_rank) { return ranks_.at(static_cast<size_t>(local_rank)); }

  PmiPlace place_;
  std::vector<Rank> ranks_;
  std::map<std::string, std::string, std::less<>> store_;
  std::string puts_;  // of this node since the last barrier, as other nodes are told
  uint64_t sequence_ = 0;
  bool exchanging_ = false, mapping_known_ = false, used_ = false;
  std::string left_;  // what makes every barrier vain
  bool told_left_ = false;
  std::vector<PmiOutput> outputs_;
};

/// The value of PMI_process_mapping for nodes with that many ranks each: "(vector,(0,2,4))", blocks
/// of (first node, nodes, ranks on each). "" when it is too long for a value: then the ranks tell
/// each other their host names. Source: MPICH, src/util/build_nodemap.h.
[[nodiscard]] std::string process_mapping(const std::vector<int>& ranks_by_node);

}  // namespace muster::mpi
