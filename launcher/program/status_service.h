// StatusService: the status port of `muster run`: where it is, what it is told, and the events for
// it. Made only if there is one to be.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/log.h"
#include "launcher/agent/node_facts.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/journal/journal.h"
#include "launcher/status_port/job_metrics.h"
#include "launcher/status_port/status_port.h"

namespace muster::launcher {

/// In pods, unless a flag says otherwise: the port that the other tools of their controllers use
/// for metrics as well.
inline constexpr uint16_t kPodStatusPort = 8080;
/// Workers of a node that are measured.
inline constexpr size_t kMaxMeasuredWorkers = 64;
/// What was measured, and the status, are told again to those that ask sooner.
inline constexpr Duration kMeasuredAgain = std::chrono::seconds(1);

/// Where the status port is to be; none = nowhere. In a pod (`has_contract`, or Kubernetes'
/// variables in `environment`) every interface, else loopback, unless --local-addr is an address.
[[nodiscard]] std::optional<Address> status_address(const Options& options,
                                                    const Environment& environment,
                                                    bool has_contract);

class StatusService {
 public:
  /// Takes part in what is recorded from now on: as a reader of `journal`, which is borrowed, or,
  /// if that is null, in its place. `mark` begins the ids of events then.
  StatusService(const AgentDoors& doors, JournalPlace place, Journal* journal, std::string mark);
  ~StatusService();
  StatusService(const StatusService&) = delete;
  StatusService& operator=(const StatusService&) = delete;

  /// Of that job and node, from now on.
  void set_place(JournalPlace place) { place_ = std::move(place); }
  /// Serves until the result is gone. Null: the port cannot be had, and the log says so. `context`
  /// and `facts` are asked while it serves.
  [[nodiscard]] std::unique_ptr<StatusPort> serve(const Address& address,
                                                  const AgentContext& context,
                                                  const std::function<NodeFacts()>& facts);

 private:
  void record(const log::Event& event);
  [[nodiscard]] std::string metrics(const AgentContext& context, const NodeFacts& facts,
                                    ExpositionFormat format);
  std::string status(const std::function<NodeFacts()>& facts);
  void measure(const NodeFacts& facts);

  AgentDoors doors_;
  JournalPlace place_;
  Journal* journal_;
  std::string mark_;
  uint64_t last_seq_ = 0;
  EventRing events_;
  WallTime started_;
  std::vector<WorkerUsage> measured_;
  std::optional<TimePoint> measured_at_;
  std::string status_;
  std::optional<TimePoint> status_at_;
};

}  // namespace muster::launcher
