#include "mpi/pmi/pmi_ranks.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>
#include <variant>

#include "base/environment.h"
#include "base/log.h"
#include "base/socket.h"

namespace muster::mpi {

namespace {

// A rank that has ended left a request or two behind; a child of it might write for ever.
constexpr int kLastReads = 16;

}  // namespace

Status PmiRanks::begin(NodeRanks place) {
  place_ = std::move(place);
  ranks_.clear();
  ranks_.resize(static_cast<size_t>(place_.local_size));
  server_.emplace(place_);
  left_unused_ = 0;
  settle();
  return {};
}

Result<AttachedRank> PmiRanks::attach(int local_rank, SpawnRequest& request) {
  auto theirs = connect(local_rank);
  if (!theirs) return std::move(theirs).error();
  auto input = set_rank_stdin(place_, local_rank, request);
  if (!input) return std::move(input).error();
  request.kept_fd = theirs->get();
  AttachedRank rank{.variables = variables(local_rank, theirs->get()), .inherited = {}};
  rank.inherited.push_back(std::move(*theirs));
  rank.inherited.push_back(std::move(*input));
  return rank;
}

Result<UniqueFd> PmiRanks::connect(int local_rank) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return os_error("socketpair for PMI");
  Rank& rank = at(local_rank);
  rank.fd = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  MUSTER_RETURN_IF_ERROR(set_nonblocking(rank.fd.get()));
  auto watch = loop_.watch(rank.fd.get(), Interest::kRead,
                           [this, local_rank](Ready ready) { on_ready(local_rank, ready); });
  if (!watch) return std::move(watch).error();
  rank.watch = std::move(*watch);
  return theirs;
}

std::vector<PlannedVariable> PmiRanks::variables(int local_rank, int fd) const {
  const auto variable = [](const char* name, int value, const char* reason) {
    return PlannedVariable{.name = name,
                           .value = std::to_string(value),
                           .reason = reason,
                           .source = "PMI 1",
                           .claim = Claim::kOverrides};
  };
  return {variable("PMI_FD", fd, "where the agent answers this rank"),
          variable("PMI_RANK", place_.first_rank + local_rank, "this rank among all"),
          variable("PMI_SIZE", place_.world_size, "ranks of the job"),
          variable("MPI_LOCALNRANKS", place_.local_size, "ranks of this node"),
          variable("MPI_LOCALRANKID", local_rank, "this rank on its node")};
}

void PmiRanks::on_ready(int local_rank, Ready ready) {
  Rank& rank = at(local_rank);
  if (ready.writable && !rank.outgoing.empty()) write(rank);
  if (!rank.outgoing.empty()) return;
  // Its end is no news here: the process says how it ended.
  if (ready.readable && receive(local_rank) == 0) rank.watch.reset();
  decode(local_rank);
  settle();
}

// How many bytes came; 0 = nothing more will, -1 = none now.
ssize_t PmiRanks::receive(int local_rank) {
  Rank& rank = at(local_rank);
  std::array<char, kPmiReadBytesPerTurn> bytes;
  const ssize_t count = recv(rank.fd.get(), bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? -1 : 0;
  rank.incoming.append(bytes.data(), static_cast<size_t>(count));
  return count;
}

void PmiRanks::decode(int local_rank) {
  Rank& rank = at(local_rank);
  size_t consumed = 0;
  while (true) {
    auto decoded = decode_pmi(std::string_view(rank.incoming).substr(consumed));
    if (!decoded) {
      // The connection stays: a rank whose server vanishes crashes, and would be blamed for that.
      rank.watch.reset();
      rank.incoming.clear();
      return server_->on_nonsense(local_rank, decoded.error());
    }
    if (decoded->consumed == 0) break;
    consumed += decoded->consumed;
    server_->on_request(local_rank, *decoded->request);
  }
  rank.incoming.erase(0, consumed);
}

void PmiRanks::exchanged(uint64_t sequence, const Result<std::vector<std::string>>& contributions) {
  if (!server_) return;
  if (contributions) {
    server_->on_exchanged(sequence, *contributions);
  } else {
    server_->on_exchange_failed(contributions.error().text);
  }
  settle();
}

std::optional<RankVerdict> PmiRanks::exited(int local_rank, bool success) {
  // Its last word may still be unread: abort, then exit.
  if (at(local_rank).fd.is_open()) {
    for (int reads = 0; reads < kLastReads && receive(local_rank) > 0; ++reads) {
    }
    decode(local_rank);
  }
  auto verdict = success ? server_->on_success(local_rank) : server_->verdict(local_rank);
  settle();
  drop(local_rank);  // last: its own end may just have been asked for
  if (success && !server_->is_used() && ++left_unused_ == place_.local_size &&
      place_.world_size > 1) {
    log::warning("pmi.unused",
                 {{"workers", place_.local_size},
                  {"reason",
                   "all ranks ended before MPI_Init or use no MPI; or a program of Open MPI ran as "
                   "so many jobs of one rank, and needs --mpi-launch mpirun"},
                  {"action", "nothing"}});
  }
  return verdict;
}

void PmiRanks::settle() {
  for (auto outputs = server_->take_outputs(); !outputs.empty(); outputs = server_->take_outputs())
    for (const PmiOutput& output : outputs) perform(output);
}

void PmiRanks::perform(const PmiOutput& output) {
  if (const auto* answer = std::get_if<pmi_output::Answer>(&output)) {
    Rank& rank = at(answer->local_rank);
    rank.outgoing += answer->line;
    write(rank);
  } else if (const auto* exchange = std::get_if<pmi_output::Exchange>(&output)) {
    hooks_.exchange(exchange->sequence, exchange->bytes);
  } else if (const auto* end = std::get_if<pmi_output::End>(&output)) {
    const int local_rank = end->local_rank;
    log::warning("pmi.end", {{"rank", place_.first_rank + local_rank},
                             {"reason", server_->verdict(local_rank)->reason},
                             {"action", "it is killed unless it ends at once"}});
    at(local_rank).told_end = loop_.now();
    at(local_rank).end =
        loop_.after(kRankEndGrace, [this, local_rank] { hooks_.kill(local_rank); });
  }
}

// What a rank does not read waits; it asks one thing at a time, so that is one line.
void PmiRanks::write(Rank& rank) {
  if (!rank.fd.is_open() || rank.outgoing.empty()) return;
  if (!send_some(rank.fd.get(), rank.outgoing)) rank.outgoing.clear();  // it has ended
  if (rank.watch.is_active())
    rank.watch.set_interest(rank.outgoing.empty() ? Interest::kRead : Interest::kWrite);
}

void PmiRanks::drop(int local_rank) {
  Rank& rank = at(local_rank);
  rank.end.reset();
  rank.watch.reset();
  rank.fd.reset();
  rank.outgoing.clear();
}

}  // namespace muster::mpi
