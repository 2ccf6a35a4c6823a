// MpiWorld: the ranks of a round that are judged. They belong to one launcher at a time: to the
// round's own, or to an mpirun that the job's command calls. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "mpi/ranks/mpi_ranks.h"

namespace muster::mpi {

/// The end of a daemon or of a launcher is told this much later: if a rank, another daemon or the
/// loss of a node explains it, that is told before.
inline constexpr Duration kVerdictDelay = std::chrono::milliseconds(500);
/// A launcher that lingers (kLauncherLinger) and has written nothing for so long hangs: Open MPI 5
/// reads what ranks print at once and may have a hundred megabytes left to pass on.
inline constexpr Duration kLauncherSilence = std::chrono::seconds(5);

/// What becomes of a rank that begins.
enum class RankPlace {
  kJudged,
  kUnjudged,       ///< it runs, and how it ends means nothing
  kFirstUnjudged,  ///< the same, and no rank of its launcher came before it
};

class MpiWorld {
 public:
  MpiWorld(TimePoint now, MpiExpectation expected);

  /// A rank begins; an error as MpiRanks::began(). A command may call several launchers: when all
  /// ranks of one have ended well, those of the next one replace them. Ranks of a launcher that
  /// runs beside another one are not judged.
  Result<RankPlace> began(TimePoint now, uint64_t line, const rsh::Rank& rank);
  /// Those that are judged now. Whatever follows their begin is told to them.
  [[nodiscard]] MpiRanks& ranks() { return ranks_; }
  [[nodiscard]] const MpiRanks& ranks() const { return ranks_; }

  /// The round's own launcher is still there long after its ranks ended well.
  [[nodiscard]] bool lingers(TimePoint now) const;
  /// Whether such a launcher hangs; `written` is all that it has written by now. True once.
  bool hangs(TimePoint now, uint64_t written);
  /// When time alone may change an answer.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  RankPlace leave_out(const rsh::Rank& rank);

  MpiExpectation expected_;
  MpiRanks ranks_;
  uint32_t launcher_ = 0;                 // rsh::Rank::launcher of those ranks
  std::set<uint32_t> unjudged_;           // of ranks that are left out
  std::optional<uint64_t> written_ = {};  // of a launcher that lingers
  TimePoint written_at_ = {};
  bool hangs_ = false;
};

}  // namespace muster::mpi
