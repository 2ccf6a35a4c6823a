// PmiRanks: the PMI connections of this node's ranks (mpi/pmi/pmi_server.h), so that programs of
// MPICH and its descendants find each other without an mpiexec. Each rank inherits one end of a
// socket pair; nothing listens anywhere, as PMI knows no authentication.
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
#include "mpi/pmi/pmi_server.h"
#include "mpi/pmi/rank_server.h"

namespace muster::mpi {

/// Read from one rank in one turn.
inline constexpr size_t kPmiReadBytesPerTurn = 64U << 10;
class PmiRanks final : public RankServer {
 public:
  /// `loop` is borrowed.
  PmiRanks(Loop& loop, RankServerHooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}
  PmiRanks(const PmiRanks&) = delete;
  PmiRanks& operator=(const PmiRanks&) = delete;

  Status begin(NodeRanks place) override;
  Result<AttachedRank> attach(int local_rank, SpawnRequest& request) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& contributions) override;
  [[nodiscard]] std::optional<TimePoint> told_end(int local_rank) const override {
    return ranks_.at(static_cast<size_t>(local_rank)).told_end;
  }
  [[nodiscard]] std::optional<RankVerdict> exited(int local_rank, bool success) override;

  /// The end that the rank inherits; our own is served from now on. kOs.
  Result<UniqueFd> connect(int local_rank);
  /// "NAME=value" for a rank that has that end as `fd`.
  [[nodiscard]] std::vector<PlannedVariable> variables(int local_rank, int fd) const;

 private:
  struct Rank {
    UniqueFd fd;
    Watch watch;           // after fd: unregistered before it is closed
    std::string incoming;  // not decoded yet
    std::string outgoing;  // not written yet; no request is read meanwhile
    Timer end;
    std::optional<TimePoint> told_end;
  };

  void on_ready(int local_rank, Ready ready);
  ssize_t receive(int local_rank);
  void decode(int local_rank);
  void write(Rank& rank);
  void settle();
  void perform(const PmiOutput& output);
  void drop(int local_rank);
  Rank& at(int local_rank) { return ranks_.at(static_cast<size_t>(local_rank)); }

  Loop& loop_;
  RankServerHooks hooks_;
  NodeRanks place_;
  std::optional<PmiServer> server_;
  std::vector<Rank> ranks_;
  int left_unused_ = 0;  // ranks that succeeded while nobody had asked for PMI
};

}  // namespace muster::mpi
