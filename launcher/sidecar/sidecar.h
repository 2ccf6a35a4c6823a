// Sidecar: follows the journal of a node and tells what happens there, until the job is over
// (docs/observability.md, "The sidecar"). A process of its own: `muster sidecar`, or the agent's
// child.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "launcher/sidecar/folder_watch.h"
#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/pump.h"
#include "launcher/sidecar/report_target.h"
#include "launcher/sidecar/retry_policy.h"
#include "launcher/sidecar/sidecar_end.h"

namespace muster::launcher {

struct SidecarOptions {
  std::string folder;  ///< of the journal; it may come later
  std::vector<ReportTarget> targets;
  HttpCredentials webhook;  ///< of webhooks; other targets know their own
  Duration flush_timeout = std::chrono::seconds(30);
  Duration retry_max = kMaxRetryWait;
  bool after_another = false;  ///< wait for another sidecar on the folder to end
};

inline constexpr std::string_view kEventSidecarStart = "sidecar.start";
inline constexpr std::string_view kEventSidecarEnd = "sidecar.end";
inline constexpr std::string_view kEventUndelivered = "sidecar.undelivered";
inline constexpr std::string_view kEventOpenToken = "sidecar.open_token";
inline constexpr std::string_view kEventNoTarget = "sidecar.no_target";

/// Whether anybody is there to be told, as far as environment and files say. kConfig: nobody is, as
/// for `annotation` outside of a pod.
Status can_tell(const ReportTarget& target, const Environment& environment, const Files& files);

class Sidecar {
 public:
  /// `ended` is called once, from the loop, with the exit code.
  Sidecar(SidecarDoors doors, SidecarOptions options, const Environment& environment,
          std::function<void(int)> ended);
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;

  /// kConfig: none of the targets can be told anything here. Targets that cannot are logged.
  Status start();
  /// A signal that asks for the end: what is there is told first. A second one does not wait.
  void end();
  /// When it has ended: nothing that stands in the journal is untold, and no agent writes there.
  [[nodiscard]] bool told_all() const { return told_all_; }

 private:
  void warn_of_open_token() const;
  Status check_targets();
  std::unique_ptr<Target> make_target(const ReportTarget& target) const;
  void look();
  bool open_folder();
  void refuse(const Error& error);
  [[nodiscard]] SidecarFacts facts() const;
  void end_if_done();
  void finish(const SidecarVerdict& verdict);

  SidecarDoors doors_;
  SidecarOptions options_;
  const Environment& environment_;
  std::function<void(int)> ended_;  // empty = it was called
  FolderWatch watch_;
  UniqueFd lock_;
  bool other_there_ = false;                  // another sidecar has the lock, and it was said
  std::vector<std::unique_ptr<Pump>> pumps_;  // once the folder is ours
  bool agent_there_ = false;
  bool told_all_ = false;
  TimePoint without_agent_since_;
  std::optional<TimePoint> asked_at_;
  Timer flush_;
  Timer later_;
};

}  // namespace muster::launcher
