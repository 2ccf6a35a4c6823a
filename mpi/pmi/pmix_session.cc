#include "mpi/pmi/pmix_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/text.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

namespace {

// What a contribution begins with.
constexpr char kData = 'D';
constexpr char kLeft = 'L';  // a rank that ended without taking part; its name follows

constexpr int kExitMask = 0xff;

// What a node tells the others first: its number of ranks, their space, its name.
struct Introduction {
  pmix::Node node;
  std::string space;
};

std::string introduce(const NodeRanks& place) {
  return std::to_string(place.local_size) + " " + place.space + " " + place.node_name;
}

std::optional<Introduction> parse_introduction(const std::string& text) {
  const size_t first = text.find(' ');
  const size_t second = first == std::string::npos ? first : text.find(' ', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const auto ranks = parse_integer(text.substr(0, first));
  if (!ranks || *ranks < 0 || *ranks > std::numeric_limits<int>::max()) return std::nullopt;
  return Introduction{
      .node = {.name = one_line(text.substr(second + 1)), .ranks = static_cast<int>(*ranks)},
      .space = text.substr(first + 1, second - first - 1)};
}

// A comma would end a name in the library's list of nodes.
std::string listed(std::string name) {
  std::replace(name.begin(), name.end(), ',', '_');
  return name;
}

}  // namespace

PmixSession::PmixSession(NodeRanks place, std::string folder)
    : place_(std::move(place)), folder_(std::move(folder)) {
  place_.node_name = listed(place_.node_name);
  ranks_.resize(static_cast<size_t>(place_.local_size));
  if (place_.nodes > 1) {
    contribute(introduce(place_));
  } else {
    nodes_ = {{.name = place_.node_name, .ranks = place_.local_size}};
    handle(PmixEvent::kMapped);
  }
}

PmixSession::Rank* PmixSession::rank(int local_rank) {
  const bool is_here = local_rank >= 0 && local_rank < place_.local_size;
  return is_here ? &ranks_[static_cast<size_t>(local_rank)] : nullptr;
}

void PmixSession::handle(PmixEvent event) {
  const PmixTransition& row = transition(state_, event);
  log::debug(
      "pmix.transition",
      {{"state", to_string(state_)}, {"event", to_string(event)}, {"next", to_string(row.next)}});
  state_ = row.next;
  switch (row.action) {
    case PmixAction::kNothing:
      return;
    case PmixAction::kBegin:
      return begin();
    case PmixAction::kRelease:
      return release();
    case PmixAction::kEndRanks:
      for (int local = 0; local < place_.local_size; ++local) end_rank(local, broken_);
      return;
    case PmixAction::kBug:
      MUSTER_CHECK(row.action != PmixAction::kBug);
  }
}

void PmixSession::begin() {
  outputs_.push_back(pmix_output::ToServer{
      pmix::Begin{.space = place_.space, .node = place_.node, .folder = folder_, .nodes = nodes_}});
}

void PmixSession::release() {
  for (int local = 0; local < place_.local_size; ++local) {
    auto& environment = ready_.environments[static_cast<size_t>(local)];
    outputs_.push_back(pmix_output::Release{local, std::move(environment)});
  }
}

// ---- the server

void PmixSession::on_server(const PmixMessage& message) {
  if (const auto* ready = std::get_if<pmix::Ready>(&message)) {
    if (ready->environments.size() != ranks_.size())
      return break_off("the PMIx server is ready for other ranks");
    ready_ = *ready;
    return handle(PmixEvent::kReady);
  }
  // The image lacks what PMIx needs.
  if (const auto* unusable = std::get_if<pmix::Unusable>(&message))
    return break_off(unusable->reason, kExitConfig);
  if (const auto* given = std::get_if<pmix::Fence>(&message)) return fence(given->data);
  if (const auto* connected = std::get_if<pmix::Connected>(&message)) {
    if (Rank* here = rank(connected->local_rank)) here->state = RankState::kConnected;
    used_ = true;
    end_waiting();
  } else if (const auto* finalized = std::get_if<pmix::Finalized>(&message)) {
    if (Rank* here = rank(finalized->local_rank)) here->state = RankState::kFinalized;
  } else if (const auto* aborted = std::get_if<pmix::Aborted>(&message)) {
    const int code = aborted->status & kExitMask;
    end_rank(
        aborted->local_rank,
        {code == 0 ? 1 : code, "MPI_Abort with code " + std::to_string(aborted->status) +
                                   std::string(lost_rank_remark(Implementation::kOpenMpi, code))});
  } else {
    break_off("the PMIx server said what only an agent says");
  }
}

void PmixSession::on_server_lost(const std::string& reason) {
  break_off("the PMIx server of this node is gone: " + reason);
}

void PmixSession::on_server_late(Duration waited) {
  if (!awaits_server()) return;
  break_off("the PMIx server of this node is not ready after " + format_duration(waited) +
                " (--mpi-start-timeout)",
            kExitUnavailable);
}

void PmixSession::fence(std::string data) {
  if (data.size() > kMaxPmixFenceBytes) {
    return break_off("the ranks of this node give " + std::to_string(data.size()) +
                     " bytes to a PMIx barrier; at most " + std::to_string(kMaxPmixFenceBytes) +
                     " are taken");
  }
  if (place_.nodes > 1) return contribute(kData + std::move(data));
  outputs_.push_back(pmix_output::ToServer{pmix::Fenced{.data = std::move(data)}});
}

// ---- the other nodes

void PmixSession::contribute(std::string bytes) {
  due_.push_back(std::move(bytes));
  next_exchange();
}

void PmixSession::next_exchange() {
  if (exchanging_ || due_.empty()) return;
  exchanging_ = true;
  outputs_.push_back(pmix_output::Exchange{sequence_, std::move(due_.front())});
  due_.pop_front();
}

void PmixSession::on_exchanged(uint64_t sequence, const std::vector<std::string>& contributions) {
  if (!exchanging_ || sequence != sequence_) return;
  exchanging_ = false;
  ++sequence_;
  if (state_ == PmixState::kMapping) {
    take_sizes(contributions);
  } else {
    take_fence(contributions);
  }
  next_exchange();
}

void PmixSession::take_sizes(const std::vector<std::string>& contributions) {
  int own = 0;
  for (size_t rank = 0; rank < contributions.size(); ++rank) {
    const std::string& told = contributions[rank];
    if (told.empty()) continue;
    if (rank < static_cast<size_t>(place_.node)) ++own;
    auto introduction = parse_introduction(told);
    if (!introduction) return break_off("a node runs its ranks with another --mpi-launch");
    if (nodes_.empty()) place_.space = std::move(introduction->space);
    nodes_.push_back(std::move(introduction->node));
  }
  place_.node = own;  // among those with ranks
  handle(PmixEvent::kMapped);
}

void PmixSession::take_fence(const std::vector<std::string>& contributions) {
  std::string all;
  size_t silent = contributions.size() - std::min(contributions.size(), nodes_.size());
  for (const std::string& given : contributions) {
    if (given.starts_with(kLeft)) {
      left_ = "waits for " + one_line(given.substr(1)) + ", which ended without MPI_Init";
      return end_waiting();
    }
    if (given.empty() && silent > 0) {
      --silent;  // of a node without ranks
      continue;
    }
    if (!given.starts_with(kData)) return break_off("a node gave no data to a PMIx barrier");
    all.append(given, 1);
  }
  outputs_.push_back(pmix_output::ToServer{pmix::Fenced{.data = std::move(all)}});
}

void PmixSession::on_exchange_failed(const std::string& reason) {
  break_off("the nodes could not tell each other about their ranks: " + reason);
}

// ---- ends

std::optional<RankVerdict> PmixSession::on_success(int local_rank) {
  Rank* here = rank(local_rank);
  if (here->verdict) return here->verdict;
  const RankState before = std::exchange(here->state, RankState::kGone);
  if (before == RankState::kConnected) return RankVerdict{1, "exit code 0 without MPI_Finalize"};
  if (before == RankState::kSilent) leave(local_rank);
  return std::nullopt;
}

std::optional<RankVerdict> PmixSession::on_failure(int local_rank) {
  rank(local_rank)->state = RankState::kGone;
  return verdict(local_rank);
}

// It never took part. That is well where nobody does, and in vain for whoever waits for it.
void PmixSession::leave(int local_rank) {
  const std::string name = "rank " + std::to_string(place_.first_rank + local_rank);
  left_ = "waits for " + name + ", which ended without MPI_Init";
  if (place_.nodes > 1 && !std::exchange(told_left_, true)) contribute(kLeft + name);
  end_waiting();
}

void PmixSession::end_waiting() {
  if (left_.empty()) return;
  for (int local = 0; local < place_.local_size; ++local) {
    if (rank(local)->state == RankState::kConnected) end_rank(local, {1, left_});
  }
}

void PmixSession::break_off(std::string reason, int exit_code) {
  if (broken_.reason.empty()) broken_ = {exit_code, std::move(reason), /*infrastructure=*/true};
  handle(PmixEvent::kBroken);
}

void PmixSession::end_rank(int local_rank, RankVerdict verdict) {
  Rank* here = rank(local_rank);
  if (here == nullptr || here->state == RankState::kGone || here->verdict) return;
  here->verdict = std::move(verdict);
  outputs_.push_back(pmix_output::End{local_rank});
}

std::optional<RankVerdict> PmixSession::verdict(int local_rank) const {
  return ranks_.at(static_cast<size_t>(local_rank)).verdict;
}

std::vector<PmixOutput> PmixSession::take_outputs() { return std::exchange(outputs_, {}); }

}  // namespace muster::mpi
