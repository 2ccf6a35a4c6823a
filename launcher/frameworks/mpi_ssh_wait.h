// SshWait: until the SSH servers of other pods take logins, which no agent of ours runs in: their
// names resolve, their ports are open, a server's first words come. No login, and seldom enough not
// to be locked out by it (mpi/ssh_banner.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "mpi/ssh_banner.h"
#include "rendezvous/dial.h"

namespace muster::launcher {

/// For the first words, once connected.
inline constexpr Duration kSshBannerDeadline = std::chrono::seconds(5);
/// Servers that are looked at at a time; the others wait their turn.
inline constexpr size_t kMaxSshProbes = 128;

/// One look at one server. A linear conversation.
class SshProbe {
 public:
  struct Answer {
    rendezvous::Reachability state = rendezvous::Reachability::kNoAnswer;
    mpi::SshBanner banner = mpi::SshBanner::kUndecided;
    std::string own_host = {};  ///< by which this machine reached it; "" = it did not
  };
  /// Doors are borrowed for its life. `done` comes once, from the loop, and may destroy the probe.
  SshProbe(Loop& loop, Resolver& resolver, Network& network, const rendezvous::Candidate& host,
           std::function<void(Answer)> done);
  SshProbe(const SshProbe&) = delete;
  SshProbe& operator=(const SshProbe&) = delete;

 private:
  void connected(rendezvous::DialAnswer answer);
  void on_readable();
  void finish(rendezvous::Reachability state, mpi::SshBanner banner);

  Loop& loop_;
  Network& network_;
  std::function<void(Answer)> done_;
  std::unique_ptr<rendezvous::Dial> dial_;
  UniqueFd socket_;
  std::string bytes_, own_host_;
  Watch watch_;  // after socket_
  Timer timer_;
};

class SshWait {
 public:
  /// Begins. `hosts`: names as in the hostfile, with their SSH ports. `done` comes once, from the
  /// loop, and may destroy this: success, when all have answered, or kTimeout after `deadline`,
  /// naming who is missing and why. Progress goes to the log when it changes. `seed` spreads the
  /// looks.
  SshWait(Loop& loop, Resolver& resolver, Network& network,
          std::vector<rendezvous::Candidate> hosts, Duration deadline, uint64_t seed,
          std::function<void(Status)> done);
  /// By which this machine reaches the first one that answered; "" = none has.
  [[nodiscard]] const std::string& own_host() const { return own_host_; }
  SshWait(const SshWait&) = delete;
  SshWait& operator=(const SshWait&) = delete;

 private:
  struct Server {
    rendezvous::Candidate host;
    rendezvous::Reachability state = rendezvous::Reachability::kUnasked;
    int failures = 0;
    TimePoint next;  // look, while there is none
    std::unique_ptr<SshProbe> probe = nullptr;
    bool answered = false;  // the probe has done its work
  };
  void turn();
  void answered(size_t index, const SshProbe::Answer& answer);
  void tell();
  [[nodiscard]] std::string missing() const;
  void finish(Status status);

  Loop& loop_;
  Resolver& resolver_;
  Network& network_;
  std::vector<Server> servers_;
  TimePoint started_;
  Duration deadline_;
  uint64_t random_;
  std::function<void(Status)> done_;
  std::string told_, own_host_;
  Timer turn_;
};

}  // namespace muster::launcher
