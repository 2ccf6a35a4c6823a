#include "mpi/ranks/mpi_world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::mpi {

MpiWorld::MpiWorld(TimePoint now, MpiExpectation expected)
    : expected_(std::move(expected)), ranks_(now, expected_) {}

RankPlace MpiWorld::leave_out(const rsh::Rank& rank) {
  return unjudged_.insert(rank.launcher).second ? RankPlace::kFirstUnjudged : RankPlace::kUnjudged;
}

Result<RankPlace> MpiWorld::began(TimePoint now, uint64_t line, const rsh::Rank& rank) {
  // If the user has put `muster rank --` into the command himself, the launcher has no number. Then
  // two launchers cannot be told apart, and any rank may be the first of the next one.
  const bool is_known = rank.launcher != 0;
  if (expected_.by_command) {
    // Once left out a launcher stays so: the rest of its ranks would be taken for all of them.
    if (is_known && unjudged_.contains(rank.launcher)) return RankPlace::kUnjudged;
    const bool may_be_next = !is_known || rank.launcher != launcher_;
    if (may_be_next && ranks_.all_ended_well()) {
      launcher_ = rank.launcher;
      expected_.all_report = is_known;
      ranks_ = MpiRanks(now, expected_);
    }
    if (rank.launcher != launcher_) return leave_out(rank);
  }
  if (Status began = ranks_.began(now, line, rank); !began) {
    // Two launchers beside each other have ranks with the same numbers.
    if (expected_.by_command && !is_known) return leave_out(rank);
    return std::move(began).error();
  }
  return RankPlace::kJudged;
}

// A launcher that a command calls is the command's business: it cannot be killed from here, and the
// command may have put a limit to its time.
bool MpiWorld::lingers(TimePoint now) const {
  const auto since = ranks_.launcher_lingers_at();
  return since && *since <= now && !expected_.by_command && !hangs_;
}

bool MpiWorld::hangs(TimePoint now, uint64_t written) {
  MUSTER_CHECK(lingers(now));
  if (written_ != written) {
    written_ = written;
    written_at_ = now;
  } else {
    hangs_ = now - written_at_ >= kLauncherSilence;
  }
  return hangs_;
}

std::optional<TimePoint> MpiWorld::next_deadline() const {
  const auto of_ranks = ranks_.next_deadline();
  auto of_launcher = ranks_.launcher_lingers_at();
  if (!of_launcher || expected_.by_command || hangs_) return of_ranks;
  if (written_) of_launcher = written_at_ + kLauncherSilence;
  return of_ranks ? std::min(*of_ranks, *of_launcher) : of_launcher;
}

}  // namespace muster::mpi
