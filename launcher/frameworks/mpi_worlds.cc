#include "launcher/frameworks/mpi_worlds.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::launcher {

using elastic::FailureRecord;

MpiWorlds::MpiWorlds(TimePoint now, MpiExpectation own) : expected_(std::move(own)) {
  worlds_.emplace(kOwn, World{.launcher = expected_.launcher, .ranks = MpiRanks(now, expected_)});
}

// The launcher that a process reports, while it lives.
MpiWorlds::Worlds::iterator MpiWorlds::find(pid_t pid) {
  return std::find_if(worlds_.begin(), worlds_.end(), [pid](const auto& entry) {
    return entry.second.pid == pid && !entry.second.has_ended();
  });
}

// ---- what is told

Status MpiWorlds::launcher_began(TimePoint now, uint64_t line, const rsh::Launcher& launcher) {
  const auto pid = static_cast<pid_t>(launcher.pid);
  if (find(pid) != worlds_.end())
    return Error{Code::kPeer, 0, "a launcher of process " + std::to_string(pid) + " reports twice"};
  MpiExpectation expected = expected_;
  expected.launcher = launcher.name;
  expected.ranks_by_node.clear();
  expected.all_report = true;
  worlds_.emplace(
      line,
      World{.launcher = launcher.name, .pid = pid, .ranks = MpiRanks(now, std::move(expected))});
  return {};
}

void MpiWorlds::launcher_ended(TimePoint now, uint64_t line, const rsh::LauncherEnd& end) {
  end_launcher(now, line, end.code == 0 && end.signal == 0 ? State::kEndedWell : State::kFailed);
}

void MpiWorlds::end_launcher(TimePoint now, uint64_t line, State state) {
  const auto world = worlds_.find(line);
  if (world == worlds_.end()) return;
  world->second.state = state;
  world->second.ranks.launcher_ended(now, world->second.launcher);
  settle(now, line);
}

void MpiWorlds::own_launcher_ended(TimePoint now) {
  for (auto& [line, world] : worlds_) world.ranks.launcher_ended(now, expected_.launcher);
}

// Once a launcher has ended its ranks may be wanted for the verdict, or for the end of theirs.
void MpiWorlds::settle(TimePoint now, uint64_t line) {
  const auto entry = worlds_.find(line);
  if (line == kOwn || entry == worlds_.end()) return;
  World& world = entry->second;
  if (!world.has_ended()) return;
  if (world.state == State::kFailed || !world.ranks.objection(now, true)) {
    world.doubted.reset();
  } else if (!world.doubted) {
    world.doubted = now + kVerdictDelay;
  }
  if (!world.doubted && world.ranks.all_ended_well()) worlds_.erase(entry);
}

Status MpiWorlds::began(TimePoint now, uint64_t line, const rsh::Rank& rank) {
  const auto world = find(static_cast<pid_t>(rank.launcher));
  if (world == worlds_.end()) return Error{Code::kPeer, 0, "its launcher has ended"};
  MUSTER_RETURN_IF_ERROR(world->second.ranks.began(now, line, rank));
  world_of_line_[line] = world->first;
  return {};
}

void MpiWorlds::in_mpi(uint64_t line) {
  const auto of = world_of_line_.find(line);
  if (of != world_of_line_.end()) worlds_.at(of->second).ranks.in_mpi(line);
}

void MpiWorlds::ended(TimePoint now, uint64_t line, const rsh::RankEnd& end) {
  const auto of = world_of_line_.find(line);
  if (of == world_of_line_.end()) return;
  const uint64_t world = of->second;
  world_of_line_.erase(of);
  worlds_.at(world).ranks.ended(now, line, end);
  settle(now, world);
}

void MpiWorlds::lost(TimePoint now, uint64_t line) {
  const auto of = world_of_line_.find(line);
  if (of == world_of_line_.end()) return end_launcher(now, line, State::kFailed);
  const uint64_t world = of->second;
  world_of_line_.erase(of);
  worlds_.at(world).ranks.lost(now, line);
  settle(now, world);
}

// ---- what follows from it

std::optional<FailureRecord> MpiWorlds::first(const Judge& judge) const {
  std::optional<FailureRecord> found;
  for (const auto& [line, world] : worlds_) {
    auto record = judge(world);
    if (record && (!found || record->noticed < found->noticed)) found = std::move(record);
  }
  return found;
}

std::optional<FailureRecord> MpiWorlds::failure(TimePoint now) const {
  return first([now](const World& world) {
    auto record = world.ranks.failure(now);
    if (!record && world.doubted && now >= *world.doubted)
      record = world.ranks.objection(now, true);
    return record;
  });
}

std::optional<FailureRecord> MpiWorlds::own_end() const {
  return first([](const World& world) { return world.ranks.own_end(); });
}

std::optional<FailureRecord> MpiWorlds::left_early() const {
  return first([](const World& world) { return world.ranks.left_early(); });
}

bool MpiWorlds::left_behind() const {
  return std::any_of(worlds_.begin(), worlds_.end(),
                     [](const auto& entry) { return entry.second.ranks.left_behind(); });
}

std::optional<FailureRecord> MpiWorlds::objection(TimePoint now) const {
  return first([this, now](const World& world) { return objection_to(world, now); });
}

std::optional<FailureRecord> MpiWorlds::objection_to(const World& world, TimePoint now) const {
  auto record = world.ranks.objection(now, world.state != State::kFailed);
  const bool of_rank = record && record->rank != elastic::kNoRank;
  const bool said_0 = world.pid == 0 || world.state == State::kEndedWell;
  if (!record || of_rank || said_0) return record;
  const std::string who = (world.state == State::kFailed ? "ranks of " : "") + world.launcher;
  return own().record_of_launcher(now, "it ended with 0 while " + who + " had not ended");
}

std::optional<TimePoint> MpiWorlds::next_deadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](std::optional<TimePoint> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  for (const auto& [line, world] : worlds_) {
    if (world.state == State::kHangs) continue;  // all its ranks have ended well
    consider(world.doubted);
    consider(world.written ? std::optional(world.written_at + kLauncherSilence)
                           : world.ranks.next_deadline());
  }
  return next;
}

std::vector<MpiWorlds::Lingering> MpiWorlds::lingering(TimePoint now) const {
  std::vector<Lingering> found;
  for (const auto& [line, world] : worlds_) {
    if (world.state == State::kRuns && world.ranks.launcher_lingers(now))
      found.push_back({line, world.pid});
  }
  return found;
}

bool MpiWorlds::hangs(TimePoint now, uint64_t line, uint64_t written) {
  World& world = worlds_.at(line);
  MUSTER_CHECK(world.state == State::kRuns);
  if (world.written != written) {
    world.written = written;
    world.written_at = now;
  } else if (now - world.written_at >= kLauncherSilence) {
    world.state = State::kHangs;
  }
  return world.state == State::kHangs;
}

std::optional<MpiWorlds::Placement> MpiWorlds::placement(uint64_t line) const {
  const auto of = world_of_line_.find(line);
  if (of == world_of_line_.end()) return std::nullopt;
  const World& world = worlds_.at(of->second);
  auto ranks = world.ranks.placement();
  if (!ranks) return std::nullopt;
  return Placement{world.launcher, std::move(*ranks)};
}

}  // namespace muster::launcher
