#include "launcher/frameworks/mpi_ssh_wait.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "rendezvous/reachability.h"

namespace muster::launcher {

namespace {

using mpi::SshBanner;
using rendezvous::Reachability;

std::string_view word(Reachability state) {
  if (state == Reachability::kForeign) return "no SSH server";
  if (state == Reachability::kRejected) return "takes no connections from here now";
  return rendezvous::to_string(state);
}

}  // namespace

SshProbe::SshProbe(Loop& loop, Resolver& resolver, Network& network,
                   const rendezvous::Candidate& host, std::function<void(Answer)> done)
    : loop_(loop),
      network_(network),
      done_(std::move(done)),
      dial_(std::make_unique<rendezvous::Dial>(
          loop, resolver, network, host, rendezvous::DialTimeouts{},
          [this](rendezvous::DialAnswer answer) { connected(std::move(answer)); })) {}

void SshProbe::connected(rendezvous::DialAnswer answer) {
  if (answer.state != Reachability::kReached) return finish(answer.state, SshBanner::kUndecided);
  socket_ = std::move(answer.socket);
  if (const auto own = network_.local_address(socket_.get())) own_host_ = own->host;
  auto watch = loop_.watch(socket_.get(), Interest::kRead, [this](Ready) { on_readable(); });
  if (!watch) return finish(Reachability::kNoAnswer, SshBanner::kUndecided);
  watch_ = std::move(*watch);
  timer_ = loop_.after(kSshBannerDeadline,
                       [this] { finish(Reachability::kForeign, SshBanner::kUndecided); });
}

void SshProbe::on_readable() {
  std::array<char, 512> bytes;
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) bytes_.append(bytes.data(), static_cast<size_t>(count));
  const SshBanner banner = mpi::classify_ssh_banner(bytes_);
  switch (banner) {
    case SshBanner::kSsh:
      return finish(Reachability::kReached, banner);
    case SshBanner::kLockedOut:
      return finish(Reachability::kRejected, banner);
    case SshBanner::kOther:
      return finish(Reachability::kForeign, banner);
    case SshBanner::kUndecided:
      // Hung up before it said who it is.
      if (count <= 0) finish(Reachability::kForeign, banner);
      return;
  }
}

void SshProbe::finish(Reachability state, SshBanner banner) {
  timer_.reset();
  watch_.reset();
  socket_.reset();
  if (done_) std::exchange(done_, {})({state, banner, own_host_});
}

SshWait::SshWait(Loop& loop, Resolver& resolver, Network& network,
                 std::vector<rendezvous::Candidate> hosts, Duration deadline, uint64_t seed,
                 std::function<void(Status)> done)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      started_(loop.now()),
      deadline_(deadline),
      random_(seed),
      done_(std::move(done)) {
  for (auto& host : hosts) servers_.push_back({.host = std::move(host), .next = started_});
  turn_ = loop_.at(started_, [this] { turn(); });
}

void SshWait::turn() {
  const TimePoint now = loop_.now();
  for (Server& server : servers_) {
    if (std::exchange(server.answered, false)) server.probe.reset();
  }
  if (now - started_ >= deadline_) {
    return finish(
        Error{Code::kTimeout, 0, "SSH after " + format_duration(deadline_) + ": " + missing()});
  }
  TimePoint next = started_ + deadline_;
  size_t busy = 0;
  size_t reached = 0;
  for (const Server& server : servers_) busy += server.probe != nullptr ? 1 : 0;
  for (size_t i = 0; i < servers_.size(); ++i) {
    Server& server = servers_[i];
    if (server.state == Reachability::kReached) ++reached;
    if (server.state == Reachability::kReached || server.probe != nullptr) continue;
    if (server.next > now) {
      next = std::min(next, server.next);
    } else if (busy < kMaxSshProbes) {
      ++busy;
      server.probe = std::make_unique<SshProbe>(
          loop_, resolver_, network_, server.host,
          [this, i](const SshProbe::Answer& answer) { answered(i, answer); });
    }
  }
  if (reached == servers_.size()) return finish({});
  turn_ = loop_.at(next, [this] { turn(); });
}

// The probe is destroyed in a turn of its own: its method is running.
void SshWait::answered(size_t index, const SshProbe::Answer& answer) {
  Server& server = servers_[index];
  const bool news = std::exchange(server.state, answer.state) != answer.state;
  server.answered = true;
  if (own_host_.empty()) own_host_ = answer.own_host;
  server.next =
      loop_.now() + mpi::ssh_retry_pause(answer.banner, ++server.failures, next_fraction(random_));
  // Nobody is told of before everybody was asked, nor at the end.
  bool all_asked = true;
  bool all_reached = true;
  for (const Server& other : servers_) {
    all_asked = all_asked && other.state != Reachability::kUnasked;
    all_reached = all_reached && other.state == Reachability::kReached;
  }
  if (news && all_asked && !all_reached) tell();
  turn_ = loop_.soon([this] { turn(); });
}

// The names that are told may be the same ones still.
void SshWait::tell() {
  std::string line = missing();
  if (line == told_) return;
  log::info("ssh.waiting", {{"reason", line}});
  told_ = std::move(line);
}

std::string SshWait::missing() const {
  std::vector<std::string> names;
  size_t missing = 0;
  for (const Server& server : servers_) {
    if (server.state == Reachability::kReached) continue;
    if (++missing <= rendezvous::kMaxNamesInLine)
      names.push_back(server.host.host + " (" + std::string(word(server.state)) + ")");
  }
  if (missing > names.size())
    names.push_back("and " + std::to_string(missing - names.size()) + " more");
  return std::to_string(missing) + " of " + std::to_string(servers_.size()) +
         " servers do not answer: " + join(names, ", ");
}

void SshWait::finish(Status status) {
  turn_.reset();
  if (done_) std::exchange(done_, {})(std::move(status));
}

}  // namespace muster::launcher
