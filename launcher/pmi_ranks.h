// PmiRanks: the PMI connections of this node's ranks (mpi/pmi_server.h), so that programs of MPICH
// and its descendants find each other without an mpiexec. Each rank inherits one end of a socket
// pair; nothing listens anywhere, as PMI knows no authentication.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "mpi/pmi_server.h"

namespace muster::launcher {

/// Read from one rank in one turn.
inline constexpr size_t kPmiReadBytesPerTurn = 64U << 10;
/// A rank that called MPI_Abort may end by itself; MPICH's wait to be killed, as do those that wait
/// in vain.
inline constexpr Duration kPmiEndGrace = std::chrono::milliseconds(100);

struct PmiHooks {
  /// To the other nodes; the answer is exchanged(). Never called with one node.
  std::function<void(uint64_t sequence, std::string bytes)> exchange;
  /// SIGKILL to that rank process.
  std::function<void(int local_rank)> kill;
};

class PmiRanks {
 public:
  /// `loop` is borrowed. Hooks are called from the loop and from exchanged() and exited().
  PmiRanks(Loop& loop, PmiHooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}
  PmiRanks(const PmiRanks&) = delete;
  PmiRanks& operator=(const PmiRanks&) = delete;

  /// A new attempt: nothing of the old one is left.
  void begin(mpi::PmiPlace place);
  /// The end that the rank inherits; our own is served from now on. kOs.
  Result<UniqueFd> connect(int local_rank);
  /// "NAME=value" for a rank that has that end as `fd`.
  [[nodiscard]] std::vector<std::string> variables(int local_rank, int fd) const;
  /// What all nodes gave, by node rank, or why there is no answer.
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& contributions);
  /// The rank's process has ended; `success`: with 0, by itself. What its end means, if not what
  /// its status says.
  [[nodiscard]] std::optional<mpi::PmiVerdict> exited(int local_rank, bool success);

 private:
  struct Rank {
    UniqueFd fd;
    Watch watch;           // after fd: unregistered before it is closed
    std::string incoming;  // not decoded yet
    std::string outgoing;  // not written yet; no request is read meanwhile
    Timer end;
  };

  void on_ready(int local_rank, Ready ready);
  ssize_t receive(int local_rank);
  void decode(int local_rank);
  void write(Rank& rank);
  void settle();
  void perform(const mpi::PmiOutput& output);
  void drop(int local_rank);
  Rank& at(int local_rank) { return ranks_.at(static_cast<size_t>(local_rank)); }

  Loop& loop_;
  PmiHooks hooks_;
  mpi::PmiPlace place_;
  std::optional<mpi::PmiServer> server_;
  std::vector<Rank> ranks_;
  int left_unused_ = 0;  // ranks that succeeded while nobody had asked for PMI
};

/// A name that no other attempt on the machine has: "muster_JOB_2". What a key-value space's name
/// may not hold of the run id becomes '_'. The same on all nodes.
[[nodiscard]] std::string pmi_kvs_name(const std::string& run_id, int attempt);

}  // namespace muster::launcher
