// ElasticRanks: how the ranks ended that a launcher started which copes with such ends by itself.
// None of them is a failure of the job; when the launcher gives up, they say why. Ranks change
// their numbers while they run, so they are known by the lines on which they report. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "elastic/failure.h"
#include "mpi/rsh/rsh_protocol.h"

namespace muster::mpi {

/// Ends that follow each other more closely belong together: the first of them is the cause.
inline constexpr Duration kSameTrouble = std::chrono::seconds(10);
/// A launcher that gives up does so within this of the last end; later it has another reason.
inline constexpr Duration kTroubleKept = std::chrono::minutes(15);
/// The latest ones; a launcher that goes on for years meets many.
inline constexpr size_t kMaxEndsKept = 1024;

class ElasticRanks {
 public:
  /// `launcher_node`: for ranks that name no node of their own.
  ElasticRanks(std::string launcher_node, int attempt)
      : launcher_node_(std::move(launcher_node)), attempt_(attempt) {}

  void began(TimePoint now, uint64_t line, const rsh::Rank& rank);
  /// The record, when the rank failed by itself: for the log.
  std::optional<elastic::FailureRecord> ended(TimePoint now, uint64_t line,
                                              const rsh::RankEnd& end);
  /// Its report broke off.
  std::optional<elastic::FailureRecord> lost(TimePoint now, uint64_t line);

  /// `launcher`, the launcher's failure, with the rank in it that explains it, if one does: the
  /// first of those that ended last. Its exit code stays the launcher's.
  [[nodiscard]] elastic::FailureRecord explained(elastic::FailureRecord launcher) const;

 private:
  struct Running {
    int rank = 0;
    std::string node;
    pid_t pid = 0;
    TimePoint began;
  };
  std::optional<Running> take(uint64_t line);
  elastic::FailureRecord keep(TimePoint now, const Running& ran, const ExitStatus& status,
                              const std::string& remark);

  std::string launcher_node_;
  int attempt_;
  std::map<uint64_t, Running> running_;
  std::deque<elastic::FailureRecord> failed_;  // in the order of their ends
};

}  // namespace muster::mpi
