#include "mpi/rsh/rsh_reporter.h"

#include <utility>

namespace muster::mpi {

namespace {

const Error kNobodyListens{Code::kPeer, 0, "no MPI launcher runs on this node"};
const Error kForAnother{Code::kPeer, 0, "the report is for the agent of another node"};

Error misplaced(std::string text) { return {Code::kProtocol, 0, std::move(text)}; }

}  // namespace

std::optional<Result<bool>> RshReporter::take(const RshMessage& message, bool may_begin) {
  if (const auto* rank = std::get_if<rsh::Rank>(&message)) {
    if (!may_begin || is_there_) return misplaced("a second report on one connection");
    return begin(*rank);
  }
  if (std::holds_alternative<rsh::RankInit>(message)) {
    if (!is_there_) return misplaced("MPI in a rank that never began");
    if (hooks_.in_mpi) hooks_.in_mpi(line_);
    return false;
  }
  if (const auto* end = std::get_if<rsh::RankEnd>(&message)) {
    if (!is_there_) return misplaced("the end of a rank that never began");
    is_there_ = false;
    return !hooks_.ended || hooks_.ended(line_, *end);
  }
  return std::nullopt;
}

// Not answered: so a rank costs one message less.
Result<bool> RshReporter::begin(const rsh::Rank& rank) {
  if (rank.agent != agent_) return kForAnother;
  if (!hooks_.began) return kNobodyListens;
  MUSTER_RETURN_IF_ERROR(hooks_.began(line_, rank));
  is_there_ = true;
  return false;
}

void RshReporter::gone() {
  const bool was_there = std::exchange(is_there_, false);
  if (was_there && hooks_.lost) hooks_.lost(line_);
}

}  // namespace muster::mpi
