#include "mpi/ranks/mpi_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <tuple>
#include <utility>

#include "base/signals.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

using elastic::FailureClass;
using elastic::FailureRecord;

constexpr size_t kNamedNodes = 8;

ExitStatus status_of(const rsh::RankEnd& end) { return {.code = end.code, .signal = end.signal}; }

// Nothing that a process does because another one is gone, as it exits or aborts.
bool has_own_cause(const rsh::RankEnd& end) {
  constexpr std::array kSignals = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  return std::find(kSignals.begin(), kSignals.end(), end.signal) != kSignals.end();
}

// Of a launcher whose ranks all report, the first one tells how many are expected.
std::string how_many_began(int count, int expected, bool told_by_first) {
  if (count == 0 && told_by_first) return "no rank began";
  return fmt::format("{} of {} ranks began", count, expected);
}

}  // namespace

MpiRanks::MpiRanks(TimePoint now, MpiExpectation expected)
    : started_(now), expected_(std::move(expected)) {}

int MpiRanks::expected() const {
  int ranks = 0;
  for (const auto& [node, count] : expected_.ranks_by_node) ranks += count;
  return expected_.all_report ? std::max(world_, 1) : ranks;
}

int MpiRanks::count() const {
  const auto spawned = ranks_.lower_bound({1, 0});
  return static_cast<int>(std::distance(ranks_.begin(), spawned));
}

bool MpiRanks::all_began() const { return count() >= expected(); }

const MpiRanks::Seen* MpiRanks::find(uint64_t line) const {
  const auto rank = rank_of_line_.find(line);
  return rank == rank_of_line_.end() ? nullptr : &ranks_.at(rank->second);
}

MpiRanks::Seen* MpiRanks::find(uint64_t line) {
  return const_cast<Seen*>(std::as_const(*this).find(line));
}

Status MpiRanks::began(TimePoint now, uint64_t line, const rsh::Rank& rank) {
  const auto refuse = [](std::string text) { return Error{Code::kPeer, 0, std::move(text)}; };
  const int number = static_cast<int>(rank.rank);
  const std::string node = rank.node.empty() ? expected_.node : rank.node;
  const Key key{rank.world, number};
  if (ranks_.contains(key)) return refuse(fmt::format("rank {} reports twice", number));
  if (rank.world == 0) {
    if (world_ == 0) world_ = static_cast<int>(rank.size);
    if (expected() != 0 && static_cast<int>(rank.size) != expected()) {
      return refuse(fmt::format("rank {} was started in a world of {} ranks, this job has {}",
                                number, rank.size, expected()));
    }
  }
  if (!expected_.ranks_by_node.empty() && !expected_.ranks_by_node.contains(node))
    return refuse("no node " + node + " in this round");
  ranks_[key] = {.world = rank.world,
                 .rank = number,
                 .node = node,
                 .pid = static_cast<pid_t>(rank.pid),
                 .began = now};
  rank_of_line_[line] = key;
  return {};
}

FailureRecord MpiRanks::record_of(const Seen& seen) const {
  FailureRecord record;
  record.rank = seen.rank;
  for (const auto& [other, there] : ranks_) {
    if (other.first == seen.world && other.second < seen.rank && there.node == seen.node)
      ++record.local_rank;
  }
  record.node = seen.node;
  record.pid = seen.pid;
  record.noticed = seen.ended;
  record.alive = seen.ended - seen.began;
  record.attempt = expected_.attempt;
  if (seen.state == State::kLost) {
    record.status.signal = seen.end.signal == 0 ? SIGKILL : seen.end.signal;
    record.failure_class = FailureClass::kKilled;
    record.presumed = true;
    record.reason =
        signal_name(record.status.signal) +
        (is_left_behind(seen) ? " (killed: " + expected_.launcher + " had ended before it)"
                              : " (killed: its report broke off)");
    return record;
  }
  record.status = status_of(seen.end);
  record.logs = seen.end.logs;
  for (const std::string_view line : split(seen.end.last_lines, '\n'))
    if (!line.empty()) record.last_lines.emplace_back(line);
  const bool said_0 = record.status.success();
  if (said_0) record.status.code = 1;
  auto verdict = elastic::classify({.status = record.status,
                                    .out_of_memory = seen.end.out_of_memory,
                                    .shortage = seen.end.shortage});
  record.failure_class = verdict.failure_class;
  if (seen.end.aborted) {
    // The report has its last byte.
    record.reason = said_0 ? "MPI_Abort with code 0 or a multiple of 256"
                           : fmt::format("MPI_Abort with code {}", seen.end.code);
    if (!seen.end.shortage.empty()) record.reason += "; " + seen.end.shortage;
  } else if (!said_0) {
    record.reason = std::move(verdict.reason);
  } else if (missed_in_init() == &seen) {
    record.reason =
        "it ended with exit code 0 and without MPI_Init, in which others wait for it (user error)";
  } else {
    record.reason = "it left with exit code 0 and without MPI_Finalize (user error)";
  }
  if (seen.world != 0) record.reason += ", of ranks that MPI_Comm_spawn started";
  if (said_0) return record;
  record.reason += remark_of(seen);
  if (seen.end.told != 0)
    record.reason += fmt::format(", after {} from its launcher", signal_name(seen.end.told));
  return record;
}

FailureRecord MpiRanks::record_of_launcher(TimePoint now, std::string reason) const {
  FailureRecord record;
  record.rank = elastic::kNoRank;
  record.node = expected_.node;
  record.status.code = kExitUntruthful;
  record.failure_class = FailureClass::kInfrastructure;
  record.reason = expected_.launcher + ": " + std::move(reason);
  record.noticed = now;
  record.alive = now - started_;
  record.attempt = expected_.attempt;
  return record;
}

void MpiRanks::in_mpi(uint64_t line) {
  if (Seen* const seen = find(line)) seen->in_mpi = true;
}

void MpiRanks::ended(TimePoint now, uint64_t line, const rsh::RankEnd& end) {
  Seen* seen = find(line);
  if (seen == nullptr) return;
  seen->ended = now;
  seen->end = end;
  const bool success = status_of(end).success();
  if (success && !end.without_finalize && !end.aborted) {
    seen->state = State::kSucceeded;
  } else if (launcher_ended_ && (end.signal == SIGKILL || end.signal == SIGTERM)) {
    seen->state = State::kLost;  // swept away, by chance before who reports for it
  } else {
    seen->state = end.told != 0 ? State::kTold : State::kFailed;
  }
}

void MpiRanks::lost(TimePoint now, uint64_t line) {
  Seen* seen = find(line);
  if (seen == nullptr || seen->state != State::kRuns) return;
  seen->ended = now;
  seen->state = State::kLost;
}

bool MpiRanks::run() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second.state == State::kRuns; });
}

// A launcher that told the rank itself ends the job already, and an MPI_Abort asks it to.
bool MpiRanks::holds(uint64_t line) const {
  const Seen* const seen = find(line);
  if (seen == nullptr || seen->end.aborted || launcher_ended_) return false;
  return seen->end.asked || seen->state == State::kFailed;
}

void MpiRanks::launcher_ended(TimePoint now) {
  if (!launcher_ended_) launcher_ended_ = now;
}

bool MpiRanks::is_left_behind(const Seen& seen) const {
  return seen.state == State::kLost && launcher_ended_ && seen.ended >= *launcher_ended_;
}

bool MpiRanks::left_behind() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [this](const auto& entry) { return is_left_behind(entry.second); });
}

// That it lost another rank; "" = its exit code says nothing of that kind.
std::string_view MpiRanks::remark_of(const Seen& seen) const {
  // Whose container was short of something needed no other rank to fail.
  if (seen.state == State::kLost || seen.end.signal != 0 || !seen.end.shortage.empty()) return "";
  return lost_rank_remark(expected_.mpi, seen.end.code);
}

// Among ranks that did not end well: whose end explains those of the others.
MpiRanks::Order MpiRanks::order_of(const Seen& seen) const {
  if (seen.state != State::kFailed) return kTold;
  if (has_own_cause(seen.end)) return kOwnCause;
  return remark_of(seen).empty() ? kExit : kLostRank;
}

const MpiRanks::Seen* MpiRanks::first_end() const {
  const Seen* first = nullptr;
  const auto order = [this](const Seen& seen) { return std::tuple(order_of(seen), seen.ended); };
  for (const auto& [rank, seen] : ranks_) {
    if (seen.state == State::kRuns || seen.state == State::kSucceeded) continue;
    if (first == nullptr || order(seen) < order(*first)) first = &seen;
  }
  return first;
}

// The first that ended with 0 without MPI_Init, in which another one waits for all: for ever, with
// MPICH. Null: there is none, or a command of the user's may have started several worlds.
const MpiRanks::Seen* MpiRanks::missed_in_init() const {
  const bool waits = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second.in_mpi && entry.second.state == State::kRuns;
  });
  if (!waits || expected() == 0) return nullptr;
  const Seen* first = nullptr;
  for (const auto& [rank, seen] : ranks_) {
    const bool missed = seen.state == State::kSucceeded && !seen.in_mpi;
    if (missed && (first == nullptr || seen.ended < first->ended)) first = &seen;
  }
  return first;
}

bool MpiRanks::all_ended_well() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second.state == State::kSucceeded; });
}

std::optional<FailureRecord> MpiRanks::own_end() const {
  const Seen* const first = first_end();
  if (first == nullptr || first->state != State::kFailed) return std::nullopt;
  return record_of(*first);
}

std::optional<FailureRecord> MpiRanks::left_early() const {
  if (const Seen* const first = first_end(); first != nullptr && order_of(*first) < kLostRank)
    return std::nullopt;
  const Seen* left = nullptr;
  for (const auto& [rank, seen] : ranks_) {
    if (seen.state == State::kSucceeded && (left == nullptr || seen.ended < left->ended))
      left = &seen;
  }
  if (left == nullptr || all_ended_well()) return std::nullopt;
  return record_of(*left);
}

// When first_end() is to be taken for the failure, if no other end comes before it.
std::optional<TimePoint> MpiRanks::believed_at() const {
  const Seen* const first = first_end();
  if (first == nullptr) return std::nullopt;
  if (first->state != State::kFailed) return first->ended + kUnexplained;
  const Order order = order_of(*first);
  if (order == kOwnCause) return first->ended;
  // Its launcher knows more, and ends soon.
  if (order == kLostRank && left_early()) return first->ended + kUnexplained;
  const bool all_ended = count() >= std::max(expected(), world_) &&
                         std::none_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
                           return entry.second.state == State::kRuns;
                         });
  if (all_ended) return first->ended;
  return first->ended + (order == kLostRank ? kLostRankHeld : kExitHeld);
}

// The right number of ranks in all, in the wrong places.
std::optional<FailureRecord> MpiRanks::misplacement(TimePoint now) const {
  if (expected_.ranks_by_node.empty() || !all_began()) return std::nullopt;
  const std::string missing = where_missing();
  if (missing.empty()) return std::nullopt;
  return record_of_launcher(
      now,
      fmt::format("it started all {} ranks, none or too few of them on {}: it does not use the "
                  "job's nodes",
                  count(), missing));
}

std::string MpiRanks::where_missing() const {
  std::map<std::string, int> missing = expected_.ranks_by_node;
  for (const auto& [key, seen] : ranks_) missing[seen.node] -= key.first == 0 ? 1 : 0;
  std::vector<std::string> names;
  for (const auto& [node, count] : missing) {
    if (count <= 0) continue;
    if (names.size() == kNamedNodes) return join(names, ", ") + ", ...";
    names.push_back(node);
  }
  return join(names, ", ");
}

std::optional<FailureRecord> MpiRanks::failure(TimePoint now) const {
  if (const auto at = believed_at(); at && *at <= now) return record_of(*first_end());
  if (const Seen* const missed = missed_in_init()) return record_of(*missed);
  if (auto record = misplacement(now)) return record;
  const bool on_time = launcher_ended_ || now - started_ < expected_.start_deadline;
  if (all_began() || on_time) return std::nullopt;
  const std::string where = where_missing();
  return record_of_launcher(
      now, fmt::format("{} within {}{}", how_many_began(count(), expected(), expected_.all_report),
                       format_duration(expected_.start_deadline),
                       where.empty() ? "" : "; missing on " + where));
}

std::optional<FailureRecord> MpiRanks::objection(TimePoint now) const {
  if (const Seen* const first = first_end()) {
    // Of an MPI_Abort whose code is a multiple of 256 Open MPI says 0: the rank that called has
    // ended with 0, and the others were told to end. Where one was lost that may be why.
    const bool told = std::none_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
      return entry.second.state == State::kRuns || entry.second.state == State::kLost;
    });
    auto left = told && first->state == State::kTold ? left_early() : std::nullopt;
    return left ? std::move(left) : record_of(*first);
  }
  if (!all_began()) {
    const std::string where = where_missing();
    if (where.empty())
      return record_of_launcher(
          now, "it ended with 0, but " + how_many_began(count(), expected(), expected_.all_report));
    return record_of_launcher(now,
                              fmt::format("it ended with 0, but {} of {} ranks were started, "
                                          "none or too few on {}: it does not use the job's nodes",
                                          count(), expected(), where));
  }
  const auto running = std::count_if(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second.state == State::kRuns;
  });
  if (auto record = misplacement(now); record || running == 0) return record;
  return record_of_launcher(now, fmt::format("it ended with 0 while {} of {} ranks had not ended",
                                             running, ranks_.size()));
}

std::optional<TimePoint> MpiRanks::launcher_lingers_at() const {
  const bool all_ended = expected() != 0 && all_began() && all_ended_well();
  const bool others = std::any_of(ranks_.begin(), ranks_.end(),
                                  [](const auto& entry) { return entry.second.end.has_spawned; });
  if (!all_ended || others || launcher_ended_) return std::nullopt;
  TimePoint last = started_;
  for (const auto& [rank, seen] : ranks_) last = std::max(last, seen.ended);
  return last + kLauncherLinger;
}

std::optional<TimePoint> MpiRanks::next_deadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](TimePoint at) { next = next ? std::min(*next, at) : at; };
  if (!all_began() && !launcher_ended_) consider(started_ + expected_.start_deadline);
  if (misplacement(started_) || missed_in_init() != nullptr) consider(started_);
  if (const auto believed = believed_at()) consider(*believed);
  return next;
}

std::optional<std::string> MpiRanks::placement() const {
  if (expected() == 0 || count() != expected()) return std::nullopt;
  std::map<std::string, int> nodes;
  for (const auto& [key, seen] : ranks_) {
    if (key.first == 0) ++nodes[seen.node];
  }
  std::vector<std::string> names;
  for (const auto& [node, count] : nodes) {
    if (names.size() == kNamedNodes) break;
    names.push_back(fmt::format("{}:{}", node, count));
  }
  return fmt::format("{} on {}: {}{}", counted(static_cast<size_t>(count()), "rank", "ranks"),
                     counted(nodes.size(), "node", "nodes"), join(names, ", "),
                     names.size() < nodes.size() ? ", ..." : "");
}

std::set<std::string> MpiRanks::nodes() const {
  std::set<std::string> nodes;
  for (const auto& [rank, seen] : ranks_) nodes.insert(seen.node);
  return nodes;
}

}  // namespace muster::mpi
