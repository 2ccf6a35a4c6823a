#include "launcher/rank/pmi_relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::string_view kBegins = "cmd=init";
constexpr std::string_view kBegins2 = "cmd=fullinit";
constexpr std::string_view kLeaves = "cmd=finalize";
constexpr size_t kTailBytes = kBegins2.size();  // of a word that is cut, less than its length
constexpr size_t kPieceBytes = 16 << 10;        // PMI-1 lines have at most a few KiB

}  // namespace

void PmiWatch::see(std::string_view bytes) {
  std::string text = std::move(tail_);
  text += bytes;
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  began_ = began_ || has(kBegins) || has(kBegins2);
  left_ = left_ || has(kLeaves);
  tail_ = text.substr(text.size() - std::min(text.size(), kTailBytes));
}

Result<std::unique_ptr<PmiRelay>> PmiRelay::create(Loop& loop, UniqueFd daemon_fd) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return os_error("socketpair");
  std::unique_ptr<PmiRelay> relay(new PmiRelay(loop, std::move(daemon_fd)));
  relay->ours_ = UniqueFd(pair[0]);
  relay->rank_end_ = UniqueFd(pair[1]);
  return relay;
}

Status PmiRelay::start(std::function<void()> began) {
  began_ = std::move(began);
  to_daemon_ = {.from = ours_.get(), .to = daemon_.get()};
  to_rank_ = {.from = daemon_.get(), .to = ours_.get()};
  auto daemon = loop_.watch(daemon_.get(), Interest::kRead, [this](Ready) { pump_all(); });
  if (!daemon) return std::move(daemon).error();
  auto rank = loop_.watch(ours_.get(), Interest::kRead, [this](Ready) { pump_all(); });
  if (!rank) return std::move(rank).error();
  daemon_watch_ = std::move(*daemon);
  rank_watch_ = std::move(*rank);
  return {};
}

// Never more than one piece is held, so either side waits for the other as it would without us.
// MSG_DONTWAIT, because the descriptor's own flags are shared with our parent.
void PmiRelay::pump(Way& way) {
  if (way.pending.empty() && !way.ended) {
    std::array<char, kPieceBytes> piece{};
    const ssize_t got = recv(way.from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) way.pending.assign(piece.data(), static_cast<size_t>(got));
    way.ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (&way == &to_daemon_) watch_.see(way.pending);
    if (watch_.has_begun() && began_) std::exchange(began_, {})();
    // The daemon kills its ranks, and us, when one goes without leaving MPI: our own end, after the
    // report, is soon enough to tell it.
    if (way.ended && !watch_.is_inside()) (void)shutdown(way.to, SHUT_WR);  // or nobody is there
  }
  if (way.pending.empty()) return;
  const ssize_t sent =
      send(way.to, way.pending.data(), way.pending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    way.pending.erase(0, static_cast<size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    way.pending.clear();  // its reader is gone
  }
}

void PmiRelay::pump_all() {
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

void PmiRelay::drain() {
  constexpr int kMostPieces = 64;  // a socket buffer's worth
  for (int i = 0; i < kMostPieces && !to_daemon_.ended; ++i) pump(to_daemon_);
}

}  // namespace muster::launcher
