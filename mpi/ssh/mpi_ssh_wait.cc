#include "mpi/ssh/mpi_ssh_wait.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "mpi/ssh/ssh_banner.h"
#include "rendezvous/finding/reachability.h"

namespace muster::mpi {

namespace {

using rendezvous::Reachability;

constexpr double kSpread = 0.5;  // of a pause, by chance

std::string_view word(Reachability state) {
  if (state == Reachability::kForeign) return "does not greet as an SSH server";
  return rendezvous::to_string(state);
}

}  // namespace

// One look at one server: connect, and read its first words.
class SshWait::Probe {
 public:
  /// By which state the look ended, and by which address this machine reached the server.
  using Done = std::function<void(Reachability state, const std::string& own_host)>;
  /// `done` comes once, from the loop, and must not destroy the probe.
  Probe(Loop& loop, Resolver& resolver, Network& network, const rendezvous::Candidate& host,
        Done done)
      : loop_(loop),
        network_(network),
        done_(std::move(done)),
        dial_(loop, resolver, network, host, rendezvous::DialTimeouts{},
              [this](rendezvous::DialAnswer answer) { connected(std::move(answer)); }) {}

 private:
  void connected(rendezvous::DialAnswer answer) {
    if (answer.state != Reachability::kReached) return finish(answer.state);
    socket_ = std::move(answer.socket);
    if (const auto own = network_.local_address(socket_.get())) own_host_ = own->host;
    auto watch = loop_.watch(socket_.get(), Interest::kRead, [this](Ready) { on_readable(); });
    if (!watch) return finish(Reachability::kNoAnswer);
    watch_ = std::move(*watch);
    timer_ = loop_.after(kSshBannerDeadline, [this] { finish(Reachability::kForeign); });
  }

  void on_readable() {
    std::array<char, 512> bytes;
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0) bytes_.append(bytes.data(), static_cast<size_t>(count));
    const auto is_ssh = is_ssh_banner(bytes_);
    if (is_ssh) return finish(*is_ssh ? Reachability::kReached : Reachability::kForeign);
    if (count <= 0) finish(Reachability::kForeign);  // it hung up before it said its version
  }

  void finish(Reachability state) {
    timer_.reset();
    watch_.reset();
    socket_.reset();
    if (done_) std::exchange(done_, {})(state, own_host_);
  }

  Loop& loop_;
  Network& network_;
  Done done_;
  rendezvous::Dial dial_;
  UniqueFd socket_;
  std::string bytes_;
  std::string own_host_;
  Watch watch_;  // after socket_
  Timer timer_;
};

struct SshWait::Server {
  rendezvous::Candidate host;
  TimePoint next;                   // look
  Duration pause = kFirstSshPause;  // after it
  Reachability state = Reachability::kUnasked;
  std::unique_ptr<Probe> probe = {};  // the look that is under way
  bool answered = false;              // the probe has done its work
};

SshWait::SshWait(Loop& loop, Resolver& resolver, Network& network,
                 std::vector<rendezvous::Candidate> hosts, Duration deadline, uint64_t seed,
                 std::function<void(Status)> done)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      deadline_(loop.now() + deadline),
      patience_(deadline),
      random_(seed),
      done_(std::move(done)) {
  for (auto& host : hosts) servers_.push_back({.host = std::move(host), .next = loop.now()});
  turn_ = loop_.soon([this] { turn(); });
}

SshWait::~SshWait() = default;

void SshWait::turn() {
  const TimePoint now = loop_.now();
  for (Server& server : servers_) {
    if (std::exchange(server.answered, false)) server.probe.reset();
  }
  if (now >= deadline_) {
    return finish(
        Error{Code::kTimeout, 0, "SSH after " + format_duration(patience_) + ": " + missing()});
  }
  TimePoint next = deadline_;
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
      server.probe = std::make_unique<Probe>(
          loop_, resolver_, network_, server.host,
          [this, i](Reachability state, const std::string& own) { answered(i, state, own); });
    }
  }
  if (reached == servers_.size()) return finish({});
  turn_ = loop_.at(next, [this] { turn(); });
}

// The probe is destroyed in a turn of its own: its method is running.
void SshWait::answered(size_t index, Reachability state, const std::string& own_host) {
  Server& server = servers_[index];
  const bool news = std::exchange(server.state, state) != state;
  server.answered = true;
  if (own_host_.empty()) own_host_ = own_host;
  const double longer = 1 + kSpread * next_fraction(random_);
  server.next = loop_.now() + std::chrono::duration_cast<Duration>(server.pause * longer);
  server.pause = std::min(server.pause * 2, kLongestSshPause);
  // Nothing is told before every server was looked at, nor when all have answered.
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

}  // namespace muster::mpi
