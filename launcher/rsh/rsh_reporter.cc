#include "launcher/rsh/rsh_reporter.h"

#include <utility>

namespace muster::launcher {

namespace {

const Error kNobodyListens{Code::kPeer, 0, "no MPI launcher runs on this node"};

Error misplaced(std::string text) { return {Code::kProtocol, 0, std::move(text)}; }

}  // namespace

std::optional<Result<bool>> RshReporter::take(const RshMessage& message, bool may_begin) {
  const auto* rank = std::get_if<rsh::Rank>(&message);
  const auto* launcher = std::get_if<rsh::Launcher>(&message);
  if ((rank != nullptr || launcher != nullptr) && (!may_begin || is_there()))
    return misplaced("a second report on one connection");
  if (rank != nullptr)
    return begin(Who::kRank, hooks_.began ? hooks_.began(line_, *rank) : kNobodyListens);
  if (launcher != nullptr) {
    return begin(Who::kLauncher,
                 hooks_.launcher_began ? hooks_.launcher_began(line_, *launcher) : kNobodyListens);
  }
  if (std::holds_alternative<rsh::RankInit>(message)) {
    if (who_ != Who::kRank) return misplaced("MPI in a rank that never began");
    if (hooks_.in_mpi) hooks_.in_mpi(line_);
    return false;
  }
  if (const auto* end = std::get_if<rsh::RankEnd>(&message)) {
    if (who_ != Who::kRank) return misplaced("the end of a rank that never began");
    who_ = Who::kNobody;
    if (hooks_.ended) hooks_.ended(line_, *end);
    return true;
  }
  if (const auto* end = std::get_if<rsh::LauncherEnd>(&message)) {
    if (who_ != Who::kLauncher) return misplaced("the end of a launcher that never began");
    who_ = Who::kNobody;
    if (hooks_.launcher_ended) hooks_.launcher_ended(line_, *end);
    return true;
  }
  return std::nullopt;
}

// A rank is not told, so that it costs one message less.
Result<bool> RshReporter::begin(Who who, const Status& noted) {
  if (!noted) return Error(noted.error());
  who_ = who;
  return who == Who::kLauncher;
}

void RshReporter::gone() {
  const bool was_there = std::exchange(who_, Who::kNobody) != Who::kNobody;
  if (was_there && hooks_.lost) hooks_.lost(line_);
}

}  // namespace muster::launcher
