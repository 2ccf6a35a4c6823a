// SshWait: waits until the SSH servers of other pods, in which no agent of ours runs, take logins:
// their names resolve, their ports are open, and they greet as SSH servers do. It does not log in.
// OpenSSH 9.8 and later lock out callers that often connect and never log in, so each look at a
// server comes at least a second after the one before.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "rendezvous/finding/dial.h"

namespace muster::mpi {

/// For the first words, once connected.
inline constexpr Duration kSshBannerDeadline = std::chrono::seconds(5);
/// Between two looks at one server: the first, doubling up to the longest, and up to half as much
/// again by chance.
inline constexpr Duration kFirstSshPause = std::chrono::seconds(1);
inline constexpr Duration kLongestSshPause = std::chrono::seconds(5);
/// Servers that are looked at at a time; the others wait their turn.
inline constexpr size_t kMaxSshProbes = 128;

class SshWait {
 public:
  /// Begins. `hosts`: names as in the hostfile, with their SSH ports. `done` comes once, from the
  /// loop, and may destroy this: success, when all have answered, or kTimeout after `deadline`,
  /// naming who is missing and why. Progress goes to the log when it changes. `seed` spreads the
  /// looks.
  SshWait(Loop& loop, Resolver& resolver, Network& network,
          std::vector<rendezvous::Candidate> hosts, Duration deadline, uint64_t seed,
          std::function<void(Status)> done);
  ~SshWait();
  SshWait(const SshWait&) = delete;
  SshWait& operator=(const SshWait&) = delete;

  /// By which this machine reaches the first one that answered; "" = none has.
  [[nodiscard]] const std::string& own_host() const { return own_host_; }

 private:
  class Probe;
  struct Server;
  void turn();
  void answered(size_t index, rendezvous::Reachability state, const std::string& own_host);
  void tell();
  [[nodiscard]] std::string missing() const;
  void finish(Status status);

  Loop& loop_;
  Resolver& resolver_;
  Network& network_;
  std::vector<Server> servers_;
  TimePoint deadline_;
  Duration patience_;  // until then, for the message
  uint64_t random_;
  std::function<void(Status)> done_;
  std::string told_;
  std::string own_host_;
  Timer turn_;
};

}  // namespace muster::mpi
