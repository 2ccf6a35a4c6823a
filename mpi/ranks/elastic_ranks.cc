#include "mpi/ranks/elastic_ranks.h"

#include <csignal>
#include <utility>

namespace muster::mpi {

using elastic::FailureRecord;

void ElasticRanks::began(TimePoint now, uint64_t line, const rsh::Rank& rank) {
  running_[line] = {.rank = static_cast<int>(rank.rank),
                    .node = rank.node.empty() ? launcher_node_ : rank.node,
                    .pid = static_cast<pid_t>(rank.pid),
                    .began = now};
}

std::optional<ElasticRanks::Running> ElasticRanks::take(uint64_t line) {
  const auto found = running_.find(line);
  if (found == running_.end()) return std::nullopt;
  Running ran = std::move(found->second);
  running_.erase(found);
  return ran;
}

FailureRecord ElasticRanks::keep(TimePoint now, const Running& ran, const ExitStatus& status,
                                 const std::string& remark) {
  FailureRecord record;
  record.rank = ran.rank;
  record.node = ran.node;
  record.pid = ran.pid;
  record.status = status;
  auto verdict = elastic::classify({.status = status});
  record.failure_class = verdict.failure_class;
  record.reason = verdict.reason + remark;
  record.noticed = now;
  record.alive = now - ran.began;
  record.attempt = attempt_;
  failed_.push_back(record);
  if (failed_.size() > kMaxEndsKept) failed_.pop_front();
  return record;
}

std::optional<FailureRecord> ElasticRanks::ended(TimePoint now, uint64_t line,
                                                 const rsh::RankEnd& end) {
  const auto ran = take(line);
  const ExitStatus status{.code = end.code, .signal = end.signal};
  // Who was told to end, by the launcher or because its node goes, explains nothing.
  if (!ran || status.success() || end.told != 0) return std::nullopt;
  return keep(now, *ran, status, "");
}

std::optional<FailureRecord> ElasticRanks::lost(TimePoint now, uint64_t line) {
  const auto ran = take(line);
  if (!ran) return std::nullopt;
  return keep(now, *ran, {.signal = SIGKILL}, ": its report broke off");
}

FailureRecord ElasticRanks::explained(FailureRecord launcher) const {
  if (failed_.empty() || launcher.noticed - failed_.back().noticed > kTroubleKept) return launcher;
  auto first = failed_.rbegin();
  while (std::next(first) != failed_.rend() &&
         first->noticed - std::next(first)->noticed <= kSameTrouble)
    ++first;
  FailureRecord record = *first;
  record.reason += "; then " + launcher.reason;
  record.status = launcher.status;
  record.noticed = launcher.noticed;
  record.noticed_wall = launcher.noticed_wall;
  record.last_lines = std::move(launcher.last_lines);
  return record;
}

}  // namespace muster::mpi
