// PmixSession: what an agent knows of its ranks through PMIx during one attempt, and what its
// PMIx server and the other nodes must hear. The PMIx protocol itself is the library's. Pure;
// processes and sockets: mpi/pmi/pmix_ranks.h.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "mpi/launch/node_ranks.h"
#include "mpi/pmi/pmix_messages.h"
#include "mpi/pmi/pmix_session_table.h"

namespace muster::mpi {

/// What one node may give to one barrier. Open MPI's ranks give some hundred bytes each.
inline constexpr size_t kMaxPmixFenceBytes = 1U << 20;

namespace pmix_output {
struct ToServer {
  PmixMessage message;
};
/// The rank may start now, with these variables, "NAME=value".
struct Release {
  int local_rank;
  std::vector<std::string> environment;
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
}  // namespace pmix_output
using PmixOutput = std::variant<pmix_output::ToServer, pmix_output::Release, pmix_output::Exchange,
                                pmix_output::End>;

class PmixSession {
 public:
  /// `folder`: for the library's files on this node.
  PmixSession(NodeRanks place, std::string folder);

  /// The server said something. What is no message of a server, or of a rank that is not here,
  /// breaks the service.
  void on_server(const PmixMessage& message);
  /// Its connection ended or its words mean nothing; `reason` is for people.
  void on_server_lost(const std::string& reason);
  /// It was told about the job so long ago, and is not ready.
  void on_server_late(Duration waited);
  /// By node rank, "" for a node without ranks.
  void on_exchanged(uint64_t sequence, const std::vector<std::string>& contributions);
  /// There will be no answer to that exchange.
  void on_exchange_failed(const std::string& reason);
  /// The process has exited with 0 by itself. None: that is a success.
  [[nodiscard]] std::optional<RankVerdict> on_success(int local_rank);
  /// It has ended in another way. None: its status says how.
  [[nodiscard]] std::optional<RankVerdict> on_failure(int local_rank);
  /// Why the rank was made to end, if it was.
  [[nodiscard]] std::optional<RankVerdict> verdict(int local_rank) const;

  [[nodiscard]] bool is_used() const { return used_; }  ///< some rank connected
  /// The server was told about the job and has not answered.
  [[nodiscard]] bool awaits_server() const { return state_ == PmixState::kStarting; }
  [[nodiscard]] std::vector<PmixOutput> take_outputs();

 private:
  enum class RankState { kSilent, kConnected, kFinalized, kGone };
  struct Rank {
    RankState state = RankState::kSilent;
    std::optional<RankVerdict> verdict;
  };

  void handle(PmixEvent event);
  void begin();
  void release();
  void fence(std::string data);
  void contribute(std::string bytes);
  void next_exchange();
  void take_sizes(const std::vector<std::string>& contributions);
  void take_fence(const std::vector<std::string>& contributions);
  void leave(int local_rank);
  void end_waiting();
  void break_off(std::string reason, int exit_code = 1);
  void end_rank(int local_rank, RankVerdict verdict);
  Rank* rank(int local_rank);

  NodeRanks place_;
  std::string folder_;
  PmixState state_ = PmixState::kMapping;
  std::vector<Rank> ranks_;
  std::vector<pmix::Node> nodes_;
  pmix::Ready ready_;
  uint64_t sequence_ = 0;  // of the exchange that is on its way, or the next one
  bool exchanging_ = false;
  std::deque<std::string> due_;  // contributions that wait for it
  RankVerdict broken_;           // why, with kBroken
  std::string left_;             // why every barrier is in vain
  bool told_left_ = false;
  bool used_ = false;
  std::vector<PmixOutput> outputs_;
};

}  // namespace muster::mpi
