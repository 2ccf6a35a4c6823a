// StdoutTarget: every event as a line on stdout, for whoever collects the lines of containers. A
// reader that is slow keeps nobody waiting but this target.
#pragma once

#include <string>

#include "base/loop.h"
#include "launcher/sidecar/event_queue.h"
#include "launcher/sidecar/target.h"

namespace muster::launcher {

class StdoutTarget final : public Target {
 public:
  /// `loop` is borrowed, and so is `fd`.
  StdoutTarget(Loop& loop, int fd) : loop_(loop), fd_(fd) {}

  void begin(const JournalMark& told, Settled settled) override;
  [[nodiscard]] bool needs_all() const override { return false; }
  [[nodiscard]] bool has_room() const override { return queue_.has_room(); }
  void take(JournalEvent event) override;
  void caught_up() override;
  [[nodiscard]] bool is_idle() const override { return queue_.is_empty() && line_.empty(); }
  [[nodiscard]] size_t waiting() const override { return queue_.size() + (line_.empty() ? 0 : 1); }

 private:
  void write();

  Loop& loop_;
  int fd_;
  Settled settled_;
  EventQueue queue_;
  std::string line_;  // what is left of the one under way
  JournalMark mark_;  // of it
  Timer later_;
};

}  // namespace muster::launcher
