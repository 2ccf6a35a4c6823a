// NodeNetwork: what lies between the nodes of `muster local`, and how --chaos cuts it. Each kind
// has a file of its own; of a job without partitions it is the machine's loopback as it is.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace muster::launcher {

/// The address of node k (1 = the first), the same in all kinds and also from outside.
inline std::string host_of(int node) { return fmt::format("127.0.1.{}", node); }

class NodeNetwork {
 public:
  virtual ~NodeNetwork() = default;
  /// Before an agent of that node starts, each time. kOs.
  virtual Status prepare(int node) = 0;
  /// Where node `from` dials node `to`.
  [[nodiscard]] virtual std::string host(int from, int to) const = 0;
  /// Puts the agent of a node, which is about to be started, into its place.
  virtual void place(int node, SpawnRequest& agent) const = 0;
  /// Whether an agent of that node runs. kOs.
  virtual Status set_alive(int node, bool alive) = 0;
  /// Nothing passes between these nodes and all others any more, and nobody is told. False: all are
  /// on one side. kOs.
  virtual Result<bool> cut(const std::vector<int>& side) = 0;
  /// Everything passes again. kOs.
  virtual Status heal() = 0;
};

/// Nodes that cannot be cut off from each other.
class OpenNetwork final : public NodeNetwork {
 public:
  Status prepare(int /*node*/) override { return {}; }
  [[nodiscard]] std::string host(int /*from*/, int to) const override { return host_of(to); }
  void place(int /*node*/, SpawnRequest& /*agent*/) const override {}
  Status set_alive(int /*node*/, bool /*alive*/) override { return {}; }
  Result<bool> cut(const std::vector<int>& /*side*/) override { return false; }
  Status heal() override { return {}; }
};

/// Whether a cut with `side` on one side lies between two nodes.
[[nodiscard]] bool is_parted(const std::vector<int>& side, int one, int other);

}  // namespace muster::launcher
