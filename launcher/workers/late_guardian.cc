#include "launcher/workers/late_guardian.h"

#include <utility>

#include "base/log.h"

namespace muster::launcher {

namespace {
constexpr Duration kDelay = std::chrono::milliseconds(5);
}  // namespace

void LateGuardian::begin() {
  if (context_.is_pid_one || guardian_ || timer_.is_active()) return;
  timer_ = doors_.loop.after(kDelay, [this] { start(); });
}

void LateGuardian::start() {
  auto guardian =
      Guardian::start(doors_.processes, context_.setup, context_.token, context_.folder);
  if (!guardian) {
    log::warning("guardian.failed",
                 {{"error", guardian.error().text},
                  {"action", "going on; if the agent is killed, children of workers live on"}});
    return;
  }
  supervisor_.spare(guardian->pid());
  guardian_.emplace(std::move(*guardian));
  attempt_has(std::exchange(folder_, {}));
}

void LateGuardian::attempt_has(const std::string& folder) {
  if (!guardian_) {
    folder_ = folder;
  } else if (!folder.empty()) {
    guardian_->also_remove(folder);
  }
}

void LateGuardian::dismiss() {
  timer_.reset();
  if (guardian_) guardian_->dismiss();
}

}  // namespace muster::launcher
