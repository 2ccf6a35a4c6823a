// MpiWorlds: the ranks of one round, by the launcher that has started them: the round's own, or
// those that the job's command calls (launcher_runner.h), one after the other or beside each other.
// Each has its ranks (mpi_ranks.h), and is judged by them as the round's own is. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/mpi_ranks.h"

namespace muster::launcher {

/// The end of a daemon or of a launcher is told this much later: if a rank, another daemon or the
/// loss of a node explains it, that is told before.
inline constexpr Duration kVerdictDelay = std::chrono::milliseconds(500);
/// A launcher that lingers (kLauncherLinger) and has written nothing for so long hangs: Open MPI 5
/// reads what ranks print at once and may have a hundred megabytes left to pass on.
inline constexpr Duration kLauncherSilence = std::chrono::seconds(5);

class MpiWorlds {
 public:
  /// `own`: of the round's launcher. Of others nobody knows more than what their ranks say.
  MpiWorlds(TimePoint now, MpiExpectation own);

  /// One that the command calls; `line` tells it from all others, and is not 0. kPeer: another one
  /// of the same process has not ended.
  Status launcher_began(TimePoint now, uint64_t line, const rsh::Launcher& launcher);
  void launcher_ended(TimePoint now, uint64_t line, const rsh::LauncherEnd& end);
  /// The round's own has ended, and with it all others. The first time counts.
  void own_launcher_ended(TimePoint now);
  /// As MpiRanks. kPeer, too: its launcher has ended.
  Status began(TimePoint now, uint64_t line, const rsh::Rank& rank);
  void in_mpi(uint64_t line);
  void ended(TimePoint now, uint64_t line, const rsh::RankEnd& end);
  void lost(TimePoint now, uint64_t line);  ///< or a launcher's report broke off: it was killed

  /// Ranks of the round's own launcher, and of those that report nothing themselves.
  [[nodiscard]] MpiRanks& own() { return worlds_.at(kOwn).ranks; }
  [[nodiscard]] const MpiRanks& own() const { return worlds_.at(kOwn).ranks; }
  /// As MpiRanks, of whichever launcher it was noticed first. A launcher of the command's has
  /// failed, too, kVerdictDelay after it ended with 0 and its ranks say otherwise.
  [[nodiscard]] std::optional<elastic::FailureRecord> failure(TimePoint now) const;
  [[nodiscard]] std::optional<elastic::FailureRecord> own_end() const;
  [[nodiscard]] std::optional<elastic::FailureRecord> left_early() const;
  [[nodiscard]] bool left_behind() const;
  /// The round's own launcher exited with 0: what speaks against it.
  [[nodiscard]] std::optional<elastic::FailureRecord> objection(TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  /// A launcher that is still there long after its ranks ended well.
  struct Lingering {
    uint64_t line = 0;  ///< 0 = the round's own
    pid_t pid = 0;      ///< of the process above it that reports; 0 = the round's own
  };
  [[nodiscard]] std::vector<Lingering> lingering(TimePoint now) const;
  /// Whether one of those hangs, `written` being all that it has written by now. True once.
  bool hangs(TimePoint now, uint64_t line, uint64_t written);

  struct Placement {
    std::string launcher;
    std::string ranks;  ///< MpiRanks::placement()
  };
  /// Of the launcher that has started the rank of that line, when it was its last.
  [[nodiscard]] std::optional<Placement> placement(uint64_t line) const;

 private:
  static constexpr uint64_t kOwn = 0;
  enum class State { kRuns, kHangs, kEndedWell, kFailed };
  struct World {
    std::string launcher;
    pid_t pid = 0;
    MpiRanks ranks;
    State state = State::kRuns;
    std::optional<TimePoint> doubted = {};  // until then its 0 may be explained
    std::optional<uint64_t> written = {};   // of one that lingers
    TimePoint written_at = {};
    [[nodiscard]] bool has_ended() const {
      return state == State::kEndedWell || state == State::kFailed;
    }
  };
  using Worlds = std::map<uint64_t, World>;  // by the line of the launcher
  using Judge = std::function<std::optional<elastic::FailureRecord>(const World&)>;
  [[nodiscard]] std::optional<elastic::FailureRecord> first(const Judge& judge) const;
  [[nodiscard]] std::optional<elastic::FailureRecord> objection_to(const World& world,
                                                                   TimePoint now) const;
  Worlds::iterator find(pid_t pid);
  void end_launcher(TimePoint now, uint64_t line, State state);
  void settle(TimePoint now, uint64_t line);

  MpiExpectation expected_;
  Worlds worlds_;
  std::map<uint64_t, uint64_t> world_of_line_;  // of ranks that live
};

}  // namespace muster::launcher
