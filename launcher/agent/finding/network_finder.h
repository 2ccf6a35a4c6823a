// NetworkFinder: what workers are told of the network of their round (worker_network.h), found out
// anew for each round: names and interfaces may come late, and node rank 0 may be another one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "launcher/frameworks/worker_network.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// Who may lead, by the names under which the nodes look for them.
struct NamedNodes {
  std::vector<rendezvous::Candidate> nodes;
  std::optional<int> own;  ///< which of them this node is, if it listens on loopback, too
};

class NetworkFinder {
 public:
  /// `resolver` is borrowed.
  explicit NetworkFinder(Resolver& resolver) : resolver_(resolver) {}
  NetworkFinder(const NetworkFinder&) = delete;
  NetworkFinder& operator=(const NetworkFinder&) = delete;

  /// Of this round. Where the address of node rank 0 is of IPv6 its name is looked for among
  /// `named`, for two seconds at most: only a name stands in a URL as it does alone. It counts if
  /// it means that address here; on node rank 0 its own name may mean loopback. Forgets the round
  /// before.
  void find(const rendezvous::Assign& round, const NamedNodes& named);
  /// `done` is called once, at once or from the loop; not if another find() comes before.
  void when_found(std::function<void()> done);
  [[nodiscard]] const WorkerNetwork& found() const { return found_; }

 private:
  void answered(size_t index, bool is_master);
  [[nodiscard]] std::vector<std::optional<bool>>::const_iterator first_open() const;

  Resolver& resolver_;
  WorkerNetwork found_;
  std::vector<std::string> names_;
  std::vector<std::optional<bool>> means_master_;  // by name; none = not known yet
  std::vector<Lookup> lookups_;
  std::function<void()> done_;
};

}  // namespace muster::launcher
