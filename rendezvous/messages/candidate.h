// Candidate: an agent that may be at the other end of a dial, as a host list or a service names it.
#pragma once

#include <cstdint>
#include <string>

namespace muster::rendezvous {

/// Where a node may be.
struct Candidate {
  std::string host;         ///< name or numeric address without brackets
  uint16_t port = 0;        ///< of its job port, never 0
  int slots = 0;            ///< workers it takes; 0 = not said
  bool is_service = false;  ///< "dns:name": every address of `host` is a node (a headless Service)
  /// "worker-0:29400", "[fd00::1]:29400", "dns:workers:29400".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

}  // namespace muster::rendezvous
