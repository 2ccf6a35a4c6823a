// TrainerDoor: the status API of Kubeflow's Trainer on loopback, for workers that report to it by
// themselves, as the callback of Hugging Face does. What they say is progress like any other, and
// the sidecar's report of the job is the only one that reaches the real API, where the last post
// replaces all before it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/http_port.h"
#include "base/loop.h"
#include "base/socket.h"
#include "launcher/progress/progress_report.h"

namespace muster::launcher {

/// Set by the Trainer, complete: where to post.
inline constexpr std::string_view kTrainerUrlVariable = "KUBEFLOW_TRAINER_SERVER_URL";
/// The path of the file with the token. Both clients post nothing unless it is there.
inline constexpr std::string_view kTrainerTokenVariable = "KUBEFLOW_TRAINER_SERVER_TOKEN";

/// Workers post one after the other, and at most once in 5 s.
inline constexpr size_t kMaxTrainerClients = 32;
/// As the real one.
inline constexpr size_t kMaxTrainerBodyBytes = 64 * 1024;

/// {"trainerStatus":{"metrics":[{"name":"current_step","value":"120"},…]}} as a worker's own word:
/// current_step, total_steps and current_epoch are step, total and epoch, other numbers metrics.
/// Nothing in it that counts: says_anything() is false. kProtocol: it is none. kLimit: too long.
Result<ProgressReport> parse_trainer_status(std::string_view body);

class TrainerDoor {
 public:
  /// Listens on 127.0.0.1 and writes a token of its own into `folder`. `heard` gets what workers
  /// say. All references are borrowed. kOs.
  static Result<std::unique_ptr<TrainerDoor>> create(
      Loop& loop, Network& network, Files& files, const std::string& folder,
      std::function<void(const ProgressReport&)> heard);
  TrainerDoor(const TrainerDoor&) = delete;
  TrainerDoor& operator=(const TrainerDoor&) = delete;
  /// Removes the file.
  ~TrainerDoor();

  /// In place of the pod's own, for workers.
  [[nodiscard]] std::vector<PlannedVariable> variables() const;

 private:
  TrainerDoor(Loop& loop, Network& network, Files& files,
              std::function<void(const ProgressReport&)> heard);
  HttpReply answer(const HttpCall& call) const;

  Files& files_;
  std::function<void(const ProgressReport&)> heard_;
  std::string token_;
  std::string token_file_;
  std::string url_;
  HttpPort port_;
};

}  // namespace muster::launcher
