#include "mpi/rank/byte_relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/socket.h"

namespace muster::mpi {

namespace {

constexpr size_t kPieceBytes = 16 << 10;  // PMI-1 lines have at most a few KiB

}  // namespace

ByteRelay::ByteRelay(Loop& loop, UniqueFd rank, UniqueFd daemon, ByteRelayHooks hooks)
    : loop_(loop),
      rank_(std::move(rank)),
      daemon_(std::move(daemon)),
      hooks_(std::move(hooks)),
      to_daemon_{.from = rank_.get(), .to = daemon_.get()},
      to_rank_{.from = daemon_.get(), .to = rank_.get()} {}

Status ByteRelay::start() {
  auto daemon = loop_.watch(daemon_.get(), Interest::kRead, [this](Ready) { pump_all(); });
  if (!daemon) return std::move(daemon).error();
  auto rank = loop_.watch(rank_.get(), Interest::kRead, [this](Ready) { pump_all(); });
  if (!rank) return std::move(rank).error();
  daemon_watch_ = std::move(*daemon);
  rank_watch_ = std::move(*rank);
  return {};
}

// Never more than one piece is held, so either side waits for the other as it would without us.
// MSG_DONTWAIT, because the descriptor's own flags may be shared with our parent.
void ByteRelay::pump(Way& way) {
  if (way.pending.empty() && !way.ended) {
    std::array<char, kPieceBytes> piece{};
    const ssize_t got = recv(way.from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) way.pending.assign(piece.data(), static_cast<size_t>(got));
    way.ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (&way == &to_daemon_ && hooks_.said && !way.pending.empty()) hooks_.said(way.pending);
    // One who ended has said all: there is nothing pending.
    const bool may_tell = &way == &to_rank_ || !hooks_.may_tell_end || hooks_.may_tell_end();
    if (way.ended && may_tell) (void)shutdown(way.to, SHUT_WR);  // or nobody is there
  }
  if (!send_some(way.to, way.pending)) way.pending.clear();  // its reader is gone
}

void ByteRelay::pump_all() {
  pump(to_daemon_);
  pump(to_rank_);
  // A hang-up is reported even where nothing is waited for: again and again.
  if (to_daemon_.ended) rank_watch_.reset();
  if (to_rank_.ended) daemon_watch_.reset();
  const auto interest = [](const Way& reads, const Way& writes) {
    const bool wants_more = reads.pending.empty() && !reads.ended;
    if (!writes.pending.empty()) return wants_more ? Interest::kReadWrite : Interest::kWrite;
    return wants_more ? Interest::kRead : Interest::kNothing;
  };
  if (daemon_watch_.is_active()) daemon_watch_.set_interest(interest(to_rank_, to_daemon_));
  if (rank_watch_.is_active()) rank_watch_.set_interest(interest(to_daemon_, to_rank_));
}

void ByteRelay::drain() {
  constexpr int kMostPieces = 64;  // a socket buffer's worth
  for (int i = 0; i < kMostPieces && !to_daemon_.ended; ++i) pump(to_daemon_);
}

}  // namespace muster::mpi
