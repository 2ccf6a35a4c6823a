// PmixRanks: PMIx for this node's ranks, so that programs of Open MPI find each other without an
// mpirun. The PMIx library comes from the image, so the server is a program beside this binary
// (mpi/pmix_server). Here are its process, its socket, and the ranks that wait for it: a rank
// begins as `muster await FD` and becomes its program when its variables are known. Only in builds
// with MUSTER_PMIX.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process/init.h"
#include "base/process/temporary_folder.h"
#include "mpi/pmi/pmix_session.h"
#include "mpi/pmi/rank_server.h"

namespace muster::mpi {

/// Read from the server in one turn.
inline constexpr size_t kPmixReadBytesPerTurn = 64U << 10;

/// That the server is gone is told this much later: at the end of an attempt it goes with the
/// ranks.
inline constexpr Duration kServerVerdictDelay = std::chrono::milliseconds(100);

/// All borrowed but the last.
struct PmixDoors {
  Loop& loop;
  ProcessHost& processes;
  const Files& files;
  const Environment& environment;  ///< of the agent
  const ProcessSetup& setup;
  const std::string& token;   ///< marks everything this agent starts
  const std::string& folder;  ///< AgentContext::folder
  Duration start_deadline;    ///< for the server to be ready, once it knows the job
};

/// The path of the server. kConfig: there is none beside this binary.
Result<std::string> find_pmix_server(const Files& files);

class PmixRanks final : public RankServer {
 public:
  PmixRanks(const PmixDoors& doors, RankServerHooks hooks)
      : doors_(doors), hooks_(std::move(hooks)) {}
  PmixRanks(const PmixRanks&) = delete;
  PmixRanks& operator=(const PmixRanks&) = delete;

  /// kConfig: there is no server beside this binary. kOs: no temporary folder, no process.
  Status begin(NodeRanks place) override;
  Result<AttachedRank> attach(int local_rank, SpawnRequest& request) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& contributions) override;
  [[nodiscard]] std::optional<TimePoint> told_end(int local_rank) const override {
    return ranks_.at(static_cast<size_t>(local_rank)).told_end;
  }
  [[nodiscard]] std::optional<RankVerdict> exited(int local_rank, bool success) override;

 private:
  struct Rank {
    UniqueFd fd;  // until it was released
    Timer end;
    std::optional<TimePoint> told_end;
  };

  [[nodiscard]] std::vector<PlannedVariable> variables() const;
  Status prepare_folder();
  Status start_server();
  void on_ready(Ready ready);
  void receive();
  void write();
  void server_lost(std::string reason);
  void settle();
  void watch_start();
  void perform(const PmixOutput& output);
  void release(const pmix_output::Release& released);
  void end(int local_rank);
  Rank& at(int local_rank) { return ranks_.at(static_cast<size_t>(local_rank)); }

  PmixDoors doors_;
  RankServerHooks hooks_;
  NodeRanks place_;
  std::optional<TemporaryFolder> folder_;
  std::optional<PmixSession> session_;
  std::vector<Rank> ranks_;
  UniqueFd server_;
  Watch watch_;           // after server_: unregistered before it is closed
  std::string incoming_;  // not decoded yet
  std::string outgoing_;  // not written yet
  Timer lost_;
  Timer late_;
  int alive_ = 0;
  int left_unused_ = 0;  // ranks that succeeded while nobody had asked for PMIx
};

}  // namespace muster::mpi
