// EventRecords: what is kept of this node's events while its agent runs, and who is told of them:
// the journal in its folder, the status port, and a sidecar as a child. Each is there only if
// somebody wants it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/process/init.h"
#include "base/signals.h"
#include "launcher/agent/node_facts.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/journal/journal.h"
#include "launcher/options/options.h"
#include "launcher/program/own_sidecar.h"
#include "launcher/program/run_folder.h"
#include "launcher/program/status_service.h"

namespace muster::launcher {

/// Whose events they are.
struct RecordedAgent {
  const Options& options;
  const Environment& environment;
  const ProcessSetup& setup;
  JournalPlace place;
  bool has_contract;     ///< of a controller
  std::string temp_dir;  ///< for a journal that nobody wants to keep
};

class EventRecords {
 public:
  /// Records from now on; the sidecar has started. `doors` and what `agent` refers to are borrowed.
  /// kOs, kConfig: the journal cannot be kept.
  static Result<std::unique_ptr<EventRecords>> create(const AgentDoors& doors,
                                                      const RecordedAgent& agent);
  EventRecords(const EventRecords&) = delete;
  EventRecords& operator=(const EventRecords&) = delete;

  /// Of the journal; "" = there is none.
  [[nodiscard]] const std::string& folder() const { return folder_->path(); }
  /// 0 = there is none.
  [[nodiscard]] pid_t sidecar() const { return sidecar_.pid(); }
  /// Of that job and node, from now on.
  void set_place(const JournalPlace& place);
  /// Until the result is gone. Null: there is no status port. `context` and `facts` are asked while
  /// it serves.
  [[nodiscard]] std::unique_ptr<StatusPort> serve(const AgentContext& context,
                                                  const std::function<NodeFacts()>& facts);
  /// What the agent is told (OwnSidecar::note).
  void note(const ReceivedSignal& signal) { sidecar_.note(signal, setup_); }
  /// The agent has ended, and its children with it: the rest is told (OwnSidecar::finish).
  void finish();

 private:
  EventRecords(const AgentDoors& doors, const ProcessSetup& setup,
               std::unique_ptr<RunFolder> folder)
      : setup_(setup), folder_(std::move(folder)), sidecar_(doors.loop, doors.processes) {}

  const ProcessSetup& setup_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<StatusService> status_;  // after the journal that it reads
  std::optional<Address> status_place_;
  OwnSidecar sidecar_;
};

}  // namespace muster::launcher
