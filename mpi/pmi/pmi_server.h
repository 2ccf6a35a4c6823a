// PmiServer: what the ranks of one node know through PMI during one attempt: their key-value store,
// their barriers, and who left before its time. Pure: requests in (pmi_protocol.h), answers and
// what other nodes must hear out. Sockets: mpi/pmi/pmi_ranks.h.
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
#include "mpi/launch/node_ranks.h"
#include "mpi/pmi/pmi_protocol.h"

namespace muster::mpi {

/// What the ranks of one node may put between two barriers, keys and values together. MPICH 5 puts
/// some 2 KiB per rank.
inline constexpr size_t kMaxPmiPutBytes = 1U << 20;
/// What all ranks of an attempt may put, as kept on every node: some thousand ranks.
inline constexpr size_t kMaxPmiStoreBytes = 16U << 20;

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
  /// With several nodes the first output is an exchange: the numbers of ranks on each, and the name
  /// of the space.
  explicit PmiServer(NodeRanks place);

  /// Local ranks count from 0. A request that is out of place ends its rank.
  void on_request(int local_rank, const PmiRequest& request);
  /// The rank said something that is no PMI.
  void on_nonsense(int local_rank, const Error& error);
  /// By node rank, "" for a node without ranks. Bytes that are no contribution end the ranks that
  /// wait.
  void on_exchanged(uint64_t sequence, const std::vector<std::string>& contributions);
  /// There will be no answer to that exchange.
  void on_exchange_failed(const std::string& reason);
  /// The process has exited with 0 by itself. None: that is a success.
  [[nodiscard]] std::optional<RankVerdict> on_success(int local_rank);
  /// Why the rank was made to end, if it was.
  [[nodiscard]] std::optional<RankVerdict> verdict(int local_rank) const;

  [[nodiscard]] bool is_used() const { return used_; }  ///< some rank asked for something
  [[nodiscard]] std::vector<PmiOutput> take_outputs();

 private:
  enum class State { kSilent, kReady, kInBarrier, kFinalized, kGone };
  struct Rank {
    State state = State::kSilent;
    // asked before they were known
    bool wants_mapping = false;
    bool wants_name = false;
    std::optional<RankVerdict> verdict;
  };

  void init(int local_rank, const PmiInit& request);
  void put(int local_rank, const PmiPut& request);
  void get_name(int local_rank);
  void get(int local_rank, const PmiGet& request);
  void enter_barrier(int local_rank);
  void finalize(int local_rank);
  void settle_barrier();
  void contribute();
  void release();
  bool keep(std::string_view key, std::string_view value);
  Status apply(size_t node, const std::string& contribution, std::vector<int>& sizes);
  void take_sizes(const std::vector<int>& sizes);
  void end(int local_rank, RankVerdict verdict);
  void end_waiting(const std::string& reason);
  void answer(int local_rank, std::string_view name, std::initializer_list<PmiField> fields);
  [[nodiscard]] std::string name_of(int local_rank) const;
  Rank& at(int local_rank) { return ranks_.at(static_cast<size_t>(local_rank)); }

  NodeRanks place_;
  std::vector<Rank> ranks_;
  std::map<std::string, std::string, std::less<>> store_;
  size_t store_bytes_ = 0;
  std::string puts_;  // of this node since the last barrier, as other nodes are told
  uint64_t sequence_ = 0;
  bool exchanging_ = false;
  bool mapping_known_ = false;
  bool used_ = false;
  std::string left_;  // what makes every barrier vain
  bool told_left_ = false;
  std::vector<PmiOutput> outputs_;
};

}  // namespace muster::mpi
