// MpiRanks: what the launcher's agent knows of the ranks of one round, and what follows from it. An
// MPI launcher says 0, or nothing at all, where ranks were killed, left without a word or never
// began; here the ranks speak for themselves (`muster rank`). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "elastic/failure.h"
#include "mpi/launch/implementation.h"
#include "mpi/rsh/rsh_protocol.h"

namespace muster::mpi {

/// A rank that was ended by its launcher, or whose report broke off, is the consequence of
/// something that is noticed sooner. If nothing is for this long, it is the failure itself.
inline constexpr Duration kUnexplained = std::chrono::seconds(10);
/// A rank that exits with a code of its own may do so because another one is gone, of whose end
/// nobody has heard yet. It is believed this much later, or when all the others have ended. Open
/// MPI 5 kills `muster rank` 0.27 s after the end that it noticed: then nothing comes any more.
inline constexpr Duration kExitHeld = std::chrono::milliseconds(300);
/// A launcher that is still there so long after all ranks ended well may hang.
inline constexpr Duration kLauncherLinger = std::chrono::seconds(5);
/// Exit code of a job whose launcher said 0 although ranks are missing; Open MPI's for lost
/// daemons.
inline constexpr int kExitUntruthful = 205;

/// What is known before the ranks begin.
struct MpiExpectation {
  std::string launcher;                           ///< "mpirun"
  std::optional<Implementation> mpi = {};         ///< none = unknown
  std::string node = {};                          ///< of the launcher
  std::map<std::string, int> ranks_by_node = {};  ///< empty = the user's own launcher: nobody knows
  /// With the user's own launcher: every rank reports, so the first one tells how many there are.
  bool all_report = false;
  bool by_command = false;    ///< `launcher` is a command that may call launchers of ranks
  Duration start_deadline{};  ///< for all of them to begin
  int attempt = 0;
};

class MpiRanks {
 public:
  MpiRanks(TimePoint now, MpiExpectation expected);

  /// A rank begins; `line` tells it from all others. kPeer: it has no place in this round.
  Status began(TimePoint now, uint64_t line, const rsh::Rank& rank);
  /// It was seen to begin with MPI.
  void in_mpi(uint64_t line);
  void ended(TimePoint now, uint64_t line, const rsh::RankEnd& end);
  void lost(TimePoint now, uint64_t line);  ///< its report broke off
  /// Some have not ended.
  [[nodiscard]] bool run() const;
  /// The launcher should not notice this end before it has ended itself: it would kill the others,
  /// who may have something to save.
  [[nodiscard]] bool holds(uint64_t line) const;
  /// The round's launcher has ended. The first time counts.
  void launcher_ended(TimePoint now);
  [[nodiscard]] bool left_behind() const;  ///< some were

  /// What has failed: the first end that a rank did not owe to another one or to its launcher; one
  /// that ended without MPI, which others have begun; what time alone has made a failure, ranks
  /// that did not begin and ends that nothing explains; and ranks that all began, but not where
  /// they should. Times of day are the caller's.
  [[nodiscard]] std::optional<elastic::FailureRecord> failure(TimePoint now) const;
  /// The end of a rank that failure() may tell soon, for who cannot wait until it is believed.
  [[nodiscard]] std::optional<elastic::FailureRecord> own_end() const;
  /// The first that ended with 0 while others had not: where its launcher, or a rank, missed one,
  /// that one left MPI without a word. None: not all others ended well, or an end explains more.
  [[nodiscard]] std::optional<elastic::FailureRecord> left_early() const;
  /// A failure of the launcher itself, which says 0.
  [[nodiscard]] elastic::FailureRecord record_of_launcher(TimePoint now, std::string reason) const;
  /// All that began have ended, with success.
  [[nodiscard]] bool all_ended_well() const;
  /// The round's launcher exited with 0: what speaks against it. None = the job succeeded.
  [[nodiscard]] std::optional<elastic::FailureRecord> objection(TimePoint now) const;
  /// kLauncherLinger after the last end, if all expected ranks ended well and the launcher did not.
  /// None, too, if ranks have started others that do not report.
  [[nodiscard]] std::optional<TimePoint> launcher_lingers_at() const;
  /// When time alone may change an answer.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  /// "4 ranks on node-1, node-2", once the last of those expected has begun.
  [[nodiscard]] std::optional<std::string> placement() const;
  /// Those that ranks began on.
  [[nodiscard]] std::set<std::string> nodes() const;

 private:
  enum class State { kRuns, kSucceeded, kTold, kLost, kFailed };
  using Key = std::pair<uint32_t, int>;  // world, rank
  struct Seen {
    uint32_t world = 0;
    int rank = 0;
    std::string node;
    pid_t pid = 0;
    TimePoint began;
    TimePoint ended = {};
    State state = State::kRuns;
    rsh::RankEnd end = {};
    bool in_mpi = false;  // seen to begin with it
  };
  enum Order { kOwnCause, kExit, kLostRank, kTold };
  [[nodiscard]] Order order_of(const Seen& seen) const;
  [[nodiscard]] bool is_left_behind(const Seen& seen) const;
  [[nodiscard]] std::string_view remark_of(const Seen& seen) const;
  [[nodiscard]] const Seen* first_end() const;
  [[nodiscard]] const Seen* missed_in_init() const;
  [[nodiscard]] std::optional<TimePoint> believed_at() const;
  [[nodiscard]] int expected() const;  // 0 = unknown
  [[nodiscard]] int count() const;     // of the first world
  [[nodiscard]] bool all_began() const;
  [[nodiscard]] std::optional<elastic::FailureRecord> misplacement(TimePoint now) const;
  [[nodiscard]] std::string where_missing() const;  // "" = nowhere, or nobody knows
  [[nodiscard]] elastic::FailureRecord record_of(const Seen& seen) const;
  Seen* find(uint64_t line);
  [[nodiscard]] const Seen* find(uint64_t line) const;

  TimePoint started_;
  MpiExpectation expected_;
  int world_ = 0;  // size of the first world; 0 = none of its ranks has begun
  std::optional<TimePoint> launcher_ended_;
  std::map<Key, Seen> ranks_;
  std::map<uint64_t, Key> rank_of_line_;
};

}  // namespace muster::mpi
